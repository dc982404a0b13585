#include "cli/sim_figures.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "sim/check/figures.h"

namespace zhinu::cli {
namespace {

using sim::check::IncastFigures;
using sim::check::IncastOptions;
using sim::check::PathLossFigures;
using sim::check::PathLossOptions;

constexpr double kBitsPerGbit = 1e9;

void print_json(const IncastOptions& incast_options, const IncastFigures& incast,
                const PathLossOptions& loss_options, const PathLossFigures& loss) {
  nlohmann::ordered_json document;
  document["schema"] = "zhinu.figures/1";
  document["incast"] = {{"senders", incast_options.senders},
                        {"port_bits_per_s", incast_options.port_bits_per_s},
                        {"goodput_ratio", incast.goodput_ratio},
                        {"jain", incast.jain},
                        {"small_idle_p50_us", incast.small_idle_p50_us},
                        {"small_idle_p99_us", incast.small_idle_p99_us},
                        {"small_p50_us", incast.small_p50_us},
                        {"small_p99_us", incast.small_p99_us},
                        {"small_p99_ratio", incast.small_p99_ratio},
                        {"marked_packets", incast.marked_packets},
                        {"dropped_packets", incast.dropped_packets}};
  document["path_loss"] = {{"paths", loss_options.paths},
                           {"loss_ratio", static_cast<double>(loss_options.loss_ppm) / 1e6},
                           {"clean_goodput_ratio", loss.clean_ratio},
                           {"lossy_goodput_ratio", loss.lossy_ratio},
                           {"ratio", loss.ratio}};
  fmt::print("{}\n", document.dump(2));
}

void print_row(const Palette& palette, const char* name, double value, const char* bound, bool good,
               const std::string& note) {
  const std::string text = fmt::format("{:>8.3f}", value);
  fmt::print("    {:<26}{}   {:<8} {}\n", name, good ? palette.good(text) : palette.bad(text),
             bound, palette.dim(note));
}

void print_table(const OutputOptions& output, const IncastOptions& incast_options,
                 const IncastFigures& incast, const PathLossOptions& loss_options,
                 const PathLossFigures& loss) {
  const Palette palette(output);
  fmt::print("{}\n\n", palette.bold("zhinu sim figures"));
  fmt::print("  incast, {} senders onto one port of {:g} Gbit/s\n", incast_options.senders,
             static_cast<double>(incast_options.port_bits_per_s) / kBitsPerGbit);
  print_row(palette, "goodput over the port", incast.goodput_ratio, ">= 0.9",
            incast.goodput_ratio >= sim::check::kIncastGoodputMin,
            fmt::format("{} packets marked, {} dropped", grouped(incast.marked_packets),
                        grouped(incast.dropped_packets)));
  print_row(palette, "fairness (Jain)", incast.jain, ">= 0.9",
            incast.jain >= sim::check::kIncastJainMin, "");
  print_row(palette, "small p99 over idle p99", incast.small_p99_ratio, "<= 5",
            incast.small_p99_ratio <= sim::check::kIncastSmallP99Max,
            fmt::format("{:.1f} us idle, {:.1f} us beside", incast.small_idle_p99_us,
                        incast.small_p99_us));
  fmt::print("\n  {:g} % loss on one of {} paths\n",
             static_cast<double>(loss_options.loss_ppm) / 1e4, loss_options.paths);
  print_row(palette, "goodput over that without", loss.ratio, ">= 0.8", promise_kept(loss),
            fmt::format("{:.3f} and {:.3f} of the port", loss.lossy_ratio, loss.clean_ratio));
}

}  // namespace

int sim_figures(const OutputOptions& output) {
  const IncastOptions incast_options;
  const PathLossOptions loss_options;
  const IncastFigures incast = sim::check::incast(incast_options);
  const PathLossFigures loss = sim::check::path_loss(loss_options);
  if (output.json) {
    print_json(incast_options, incast, loss_options, loss);
  } else {
    print_table(output, incast_options, incast, loss_options, loss);
  }
  return promise_kept(incast) && promise_kept(loss) ? kGood : kBadResult;
}

}  // namespace zhinu::cli
