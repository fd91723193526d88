// `samegrad bisect`: where two runs first differ, and in what. The records say where; replays by one process, each run
// from its own state, say in what.
#include <array>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/replayed_run.h"
#include "apps/samegrad/replayed_window.h"
#include "apps/samegrad/run_origin.h"
#include "samegrad/base/error.h"
#include "samegrad/base/log.h"
#include "samegrad/checkpoint/saved_dispatch.h"
#include "samegrad/comm/aten_dispatch.h"
#include "samegrad/comm/environment.h"
#include "samegrad/report/bisection.h"

namespace samegrad {
namespace {

/// One of the two runs while it is looked at.
struct Side {
  const char* name;
  RunPaths paths;
  RecordedRun record;
  BisectedRun* told;
  std::optional<RunOrigin> origin{};
  std::unique_ptr<ReplayedRun> replay{};
};

/// Runs `action`; where it fails, the side has no replay from here on, and says why.
template <typename Action>
void while_possible(Side& side, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    side.told->not_replayed = error.what();
    side.replay.reset();
  } catch (const Json::exception& error) {  // a checkpoint that is whole, and not as a training writes it
    side.told->not_replayed = std::string("[bisect] ") + error.what();
    side.replay.reset();
  }
}

Side look_at(const char* name, const std::string& folder, const std::string& kind, BisectedRun& told) {
  Side side{.name = name, .paths = RunPaths(folder), .record = {}, .told = &told};
  side.record = read_run_record(side.paths.metrics, kind);
  told = {.folder = folder,
          .run_id = side.record.run_id,
          .kinds = side.record.kinds,
          .first_update = side.record.first(),
          .last_update = side.record.last()};
  return side;
}

/// Opens the side and computes it until `update` is the next one.
void replay_until(Side& side, std::int64_t update, const Dispatch& here) {
  while_possible(side, [&] {
    side.origin = find_origin(side.paths, side.record.run_id, update - 1);
    side.told->notes = side.origin->notes;
    const DispatchComparison dispatch = compare_dispatch(side.origin->dispatch, here);
    side.told->other_dispatch = differences_text(dispatch);
    if (!dispatch.unknown.empty()) side.told->notes.emplace_back("its dispatch is not recorded, or not all of it");
    side.replay = std::make_unique<ReplayedRun>(*side.origin, side.paths, side.record);
    if (update > side.replay->opened().plan->updates()) {
      throw InputError("bisect", side.paths.metrics.string() + ": update " + std::to_string(update) +
                                     " is past the plan's last, " +
                                     std::to_string(side.replay->opened().plan->updates()) +
                                     ": record and configuration are not of one run");
    }
    side.told->replayed_from = side.replay->started_from();
    const std::int64_t first = side.replay->update() + 1;
    if (first < update) {
      log_info("replaying " + std::string(side.name) + " from " + side.replay->started_from() + ": updates " +
               std::to_string(first) + " to " + std::to_string(update - 1));
    }
    while (side.replay->update() + 1 < update) {
      side.replay->step();
      if (log_is_terminal()) {
        log_progress("replaying " + std::string(side.name) + ": update " + std::to_string(side.replay->update()) +
                     " of " + std::to_string(update - 1));
      }
    }
  });
}

void tell_differences(Bisection& bisection, const Side& a, const Side& b) {
  if (!a.origin || !b.origin) return;
  bisection.config = config_differences(a.origin->config, b.origin->config);
  for (const DispatchFact& fact : kDispatchFacts) {
    const std::string name(fact.name);
    const Json of_a = a.origin->dispatch.is_object() ? a.origin->dispatch.value(name, Json()) : Json();
    const Json of_b = b.origin->dispatch.is_object() ? b.origin->dispatch.value(name, Json()) : Json();
    if (of_a.is_string() && of_b.is_string() && of_a != of_b) {
      bisection.dispatch.push_back({name, of_a.get<std::string>(), of_b.get<std::string>()});
    }
  }
  if (a.replay && b.replay)
    bisection.data = data_differences(a.replay->opened().data.lock, b.replay->opened().data.lock);
}

void replay_both(Bisection& bisection, Side& a, Side& b) {
  const std::int64_t update = bisection.records.differing_update;
  const Dispatch here = effective_dispatch();
  for (Side* side : {&a, &b}) replay_until(*side, update, here);
  tell_differences(bisection, a, b);
  if (a.replay && b.replay) compare_before_step(*a.replay, *b.replay, bisection.window);
  SteppedWindow of_a;
  SteppedWindow of_b;
  for (const auto& [side, stepped] : {std::pair(&a, &of_a), std::pair(&b, &of_b)}) {
    if (side->replay) while_possible(*side, [&, into = stepped, run = side] { *into = step_window(*run->replay); });
  }
  bisection.window_compared = a.replay && b.replay;
  if (bisection.window_compared) {
    compare_after_step(*a.replay, of_a, *b.replay, of_b, bisection.config, bisection.window);
  }
  for (const Side* side : {&a, &b}) {
    if (!side->replay) continue;
    side->told->replayed_updates = side->replay->updates_replayed();
    side->told->unreproduced = side->replay->unreproduced();
  }
}

}  // namespace

int run_bisect(const CommandLine& command) {
  if (read_worker_environment().world_size > 1) {
    throw InputError("bisect", "started by a launcher as one of several processes; it is one process: start it alone");
  }
  Bisection bisection;
  Side a = look_at("A", command.bisect_runs.at(0), command.bisect_kinds.at(0), bisection.a);
  Side b = look_at("B", command.bisect_runs.at(1), command.bisect_kinds.at(1), bisection.b);
  bisection.records = compare_records(a.record, b.record);
  if (bisection.records.first > bisection.records.last) {
    throw InputError("bisect", "the two runs have no update in common: A has " + std::to_string(a.record.first()) +
                                   " to " + std::to_string(a.record.last()) + ", B has " +
                                   std::to_string(b.record.first()) + " to " + std::to_string(b.record.last()) +
                                   "; name runs that overlap (--kind chooses another run of a folder)");
  }
  if (!bisection.same() && command.replay) replay_both(bisection, a, b);
  if (command.json) {
    std::cout << result_text(bisection_to_json(bisection)) << "\n";
  } else {
    std::cout << bisection_text(bisection, TextStyle{.colour = log_uses_colour()});
  }
  return bisection.same() ? 0 : static_cast<int>(ExitCode::kCheckFailed);
}

}  // namespace samegrad
