#include "cli/version.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "wire/handshake_packet.h"

namespace zhinu::cli {

int print_version(const OutputOptions& output) {
  if (output.json) {
    const nlohmann::ordered_json document = {{"schema", "zhinu.version/1"},
                                             {"version", ZHINU_VERSION},
                                             {"protocol_min", wire::kVersionMin},
                                             {"protocol_max", wire::kVersionMax}};
    fmt::print("{}\n", document.dump(2));
  } else {
    fmt::print("zhinu {}, protocol {} to {}\n", ZHINU_VERSION, wire::kVersionMin,
               wire::kVersionMax);
  }
  return kGood;
}

}  // namespace zhinu::cli
