// A simulation as tables, and as JSON.
#include "samegrad/report/number_text.h"
#include "samegrad/report/simulation.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

/// From microseconds to hours with three digits: many ranks make updates short.
std::string seconds_text(double seconds) {
  if (seconds >= 1.0) return duration_text(seconds);
  return seconds >= 1e-3 ? fixed(seconds * 1e3, 1) + " ms" : fixed(seconds * 1e6, 0) + " us";
}

std::string reduction_table(std::span<const SimulatedRow> rows, const SimulatedReduction SimulatedRow::*reduction) {
  std::vector<Column> columns;
  for (const char* title :
       {"ranks", "hosts", "atoms", "update", "compute", "exchange", "step", "efficiency", "sent", "memory"}) {
    columns.push_back({title, Align::kRight});
  }
  Table table(std::move(columns));
  for (const SimulatedRow& row : rows) {
    const SimulatedReduction& of = row.*reduction;
    table.add_row({grouped(row.world_size), grouped(row.hosts), grouped(row.atoms), seconds_text(of.seconds.total()),
                   seconds_text(of.seconds.compute), seconds_text(of.seconds.exchange + of.seconds.agreement),
                   seconds_text(of.seconds.step), percent(of.efficiency, 1), bytes_text(of.bytes_sent),
                   bytes_text(of.memory)});
  }
  return table.render();
}

Json reduction_to_json(const SimulatedReduction& reduction) {
  const SimulatedSeconds& seconds = reduction.seconds;
  return {{"seconds",
           {{"update", seconds.total()},
            {"compute", seconds.compute},
            {"exchange", seconds.exchange},
            {"agreement", seconds.agreement},
            {"step", seconds.step}}},
          {"efficiency", reduction.efficiency},
          {"bytes_sent", reduction.bytes_sent},
          {"bytes_received", reduction.bytes_received},
          {"exchange_memory", reduction.exchange_memory},
          {"memory", reduction.memory}};
}

}  // namespace

Json to_json(const SimulatedRow& row) {
  return {{"world_size", row.world_size},
          {"hosts", row.hosts},
          {"atoms", row.atoms},
          {"most_atoms", row.most_atoms},
          {"most_subtrees", row.subtrees},
          {"mean_compute_seconds", row.mean_compute_seconds},
          {"gradient_buffers", row.gradient_buffers},
          {"gradient_memory", row.gradient_memory},
          {"shared_memory", row.shared_memory},
          {"canonical", reduction_to_json(row.canonical)},
          {"native", reduction_to_json(row.native)}};
}

std::string simulation_text(std::span<const SimulatedRow> rows) {
  return "Canonical reduction: the same bits for every number of ranks\n" +
         reduction_table(rows, &SimulatedRow::canonical) +
         "\nNative reduction: a ring all-reduce, whose bits depend on the number of ranks\n" +
         reduction_table(rows, &SimulatedRow::native);
}

}  // namespace samegrad
