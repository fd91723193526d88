// A bisection as JSON and as text.
#include <utility>

#include "samegrad/report/bisection.h"
#include "samegrad/report/facts_list.h"
#include "samegrad/report/number_text.h"

namespace samegrad {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

Json pairs_to_json(const std::vector<ValuePair>& pairs) {
  Json list = Json::array();
  for (const ValuePair& pair : pairs) list.push_back({{"name", pair.name}, {"a", pair.a}, {"b", pair.b}});
  return list;
}

Json differences_to_json(const std::vector<RecordDifference>& differences, const char* a, const char* b) {
  Json list = Json::array();
  for (const RecordDifference& each : differences) {
    list.push_back({{"what", std::string(each.what)}, {a, each.a}, {b, each.b}});
  }
  return list;
}

Json run_to_json(const BisectedRun& run) {
  Json unreproduced;
  if (run.unreproduced) {
    unreproduced = {{"update", run.unreproduced->update},
                    {"differences", differences_to_json(run.unreproduced->differences, "recorded", "computed")}};
  }
  return {{"folder", run.folder},
          {"run_id", run.run_id},
          {"kinds", run.kinds},
          {"first_update", run.first_update},
          {"last_update", run.last_update},
          {"replayed_from", run.replayed_from},
          {"replayed_updates", run.replayed_updates},
          {"not_replayed", run.not_replayed},
          {"unreproduced", unreproduced},
          {"other_dispatch", run.other_dispatch},
          {"notes", run.notes}};
}

Json finding_to_json(const WindowFinding& finding) {
  return {{"part", std::string(part_name(finding.part))},
          {"atom", finding.atom < 0 ? Json() : Json(finding.atom)},
          {"tensor", finding.tensor.empty() ? Json() : Json(finding.tensor)},
          {"a", finding.a},
          {"b", finding.b},
          {"text", finding.text}};
}

std::string run_text(const BisectedRun& run) {
  std::string kinds;
  for (const std::string& kind : run.kinds) kinds += (kinds.empty() ? "" : ", ") + kind;
  return run.folder + ", run " + run.run_id + " (" + kinds + "), updates " + std::to_string(run.first_update) + " to " +
         std::to_string(run.last_update);
}

void add_run(Facts& facts, const char* name, const BisectedRun& run) {
  std::string text;
  if (!run.replayed_from.empty()) {
    text = "from " + run.replayed_from + ", " + grouped(run.replayed_updates) +
           (run.replayed_updates == 1 ? " update: " : " updates: ");
    text += run.unreproduced ? "update " + std::to_string(run.unreproduced->update) + " NOT as recorded"
                             : std::string("as recorded");
  }
  if (!run.not_replayed.empty()) text += (text.empty() ? "none: " : "; ended early: ") + run.not_replayed;
  facts.emplace_back(name, text);
  if (run.unreproduced) {
    for (const RecordDifference& each : run.unreproduced->differences) {
      facts.emplace_back("", std::string(each.what) + ": recorded " + each.a + ", computed " + each.b);
    }
    facts.emplace_back("", unreproduced_reason(run));
  }
  for (const std::string& note : run.notes) facts.emplace_back("", note);
}

std::string section(const char* title, const Facts& facts, const TextStyle& style) {
  return facts.empty() ? "" : toned(title, Tone::kStrong, style) + "\n" + facts_list(facts, style);
}

Facts pair_facts(const std::vector<ValuePair>& pairs) {
  Facts facts;
  for (const ValuePair& pair : pairs) facts.emplace_back(pair.name, pair.a + " / " + pair.b);
  return facts;
}

Facts finding_facts(const WindowFindings& window) {
  Facts facts;
  const std::vector<WindowFinding> found = window.found();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const bool first_of_part = i == 0 || found[i - 1].part != found[i].part;
    facts.emplace_back(first_of_part ? std::string(part_name(found[i].part)) : "", found[i].text);
    const bool last_of_part = i + 1 == found.size() || found[i + 1].part != found[i].part;
    if (last_of_part && window.more(found[i].part) > 0) {
      facts.emplace_back("", "and " + grouped(window.more(found[i].part)) + " more");
    }
  }
  return facts;
}

}  // namespace

Json bisection_to_json(const Bisection& bisection) {
  Json findings = Json::array();
  for (const WindowFinding& finding : bisection.window.found()) findings.push_back(finding_to_json(finding));
  const RecordComparison& records = bisection.records;
  return {{"same", bisection.same()},
          {"verdict", bisection_verdict(bisection)},
          {"a", run_to_json(bisection.a)},
          {"b", run_to_json(bisection.b)},
          {"first_compared_update", records.first},
          {"last_compared_update", bisection.same() ? records.last : records.differing_update},
          {"differing_update", bisection.same() ? Json() : Json(records.differing_update)},
          {"recorded", differences_to_json(records.differences, "a", "b")},
          {"window_compared", bisection.window_compared},
          {"findings", std::move(findings)},
          {"config", pairs_to_json(bisection.config)},
          {"data", pairs_to_json(bisection.data)},
          {"dispatch", pairs_to_json(bisection.dispatch)}};
}

std::string bisection_text(const Bisection& bisection, const TextStyle& style) {
  const RecordComparison& records = bisection.records;
  std::string text =
      section("samegrad bisect, values as A / B", {{"A", run_text(bisection.a)}, {"B", run_text(bisection.b)}}, style);
  if (!bisection.same()) {
    Facts recorded;
    if (records.differing_update > records.first) {
      recorded.emplace_back(
          "agree", "updates " + std::to_string(records.first) + " to " + std::to_string(records.differing_update - 1));
    }
    for (const RecordDifference& each : records.differences) {
      recorded.emplace_back(std::string(each.what), each.a + " / " + each.b);
    }
    const std::string update = std::to_string(records.differing_update);
    text += section(("recorded, update " + update).c_str(), recorded, style);
    Facts replays;
    add_run(replays, "A", bisection.a);
    add_run(replays, "B", bisection.b);
    text += section("replayed by one process, each run from its own state", replays, style);
    Facts findings = finding_facts(bisection.window);
    if (findings.empty() && bisection.window_compared) {
      findings.emplace_back("nothing",
                            "both replays compute the same, bit for bit: a record is not what its run's own "
                            "state gives");
    }
    text += section(("where the replays of update " + update + " differ").c_str(), findings, style);
    text += section("configured differently", pair_facts(bisection.config), style);
    text += section("other data", pair_facts(bisection.data), style);
    text += section("other dispatch", pair_facts(bisection.dispatch), style);
  }
  return text + toned(bisection_verdict(bisection), bisection.same() ? Tone::kGood : Tone::kBad, style) + "\n";
}

}  // namespace samegrad
