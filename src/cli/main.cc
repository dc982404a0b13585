// The program `zhinu`: parses the command line and runs one command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "cli/exit_code.h"
#include "cli/sim_command.h"
#include "cli/terminal.h"
#include "cli/version.h"

namespace zhinu::cli {
namespace {

void add_output_options(CLI::App& app, OutputOptions& output) {
  static const std::map<std::string, When> kWhen = {
      {"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}};
  app.add_option("--color", output.color, "auto, always or never; NO_COLOR is kept to")
      ->transform(CLI::CheckedTransformer(kWhen, CLI::ignore_case).description(""))
      ->option_text("WHEN");
  app.add_flag("--plain", output.plain, "No colour and no progress line");
  app.add_flag("--json", output.json, "Print one JSON document");
}

int run(int argc, const char* const* argv) {
  CLI::App app("zhinu: the network transport of AI training clusters", "zhinu");
  OutputOptions output;
  int exit_code = kGood;
  app.require_subcommand(1);
  // Options of the program may stand behind the command as well.
  app.fallthrough();
  add_output_options(app, output);
  add_sim_commands(app, output, exit_code);
  CLI::App* version = app.add_subcommand("version", "Print the version");
  version->callback([&] { exit_code = print_version(output); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kGood : kUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace zhinu::cli

int main(int argc, char** argv) {
  try {
    return zhinu::cli::run(argc, argv);
  } catch (const std::exception& error) {  // out of memory, or a library's own fault
    std::fprintf(stderr, "zhinu: %s\n", error.what());
    return 1;
  }
}
