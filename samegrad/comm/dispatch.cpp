#include "samegrad/comm/dispatch.h"

#include <algorithm>
#include <span>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"

namespace samegrad {
namespace {

/// Fixed length on the wire; a longer value is cut, NUL-terminated.
using WireText = std::array<char, 128>;
using WireDispatch = std::array<WireText, kDispatchFacts.size()>;

WireDispatch to_wire(const Dispatch& dispatch) {
  WireDispatch wire{};
  for (std::size_t i = 0; i < wire.size(); ++i) {
    const std::string& value = dispatch.values[i];
    std::copy_n(value.begin(), std::min(value.size(), wire[i].size() - 1), wire[i].begin());
  }
  return wire;
}

std::size_t fact_index(std::string_view name) {
  const auto* const found = std::ranges::find(kDispatchFacts, name, &DispatchFact::name);
  SAMEGRAD_CHECK_OP(found - kDispatchFacts.begin(), <, static_cast<std::ptrdiff_t>(kDispatchFacts.size()));
  return static_cast<std::size_t>(found - kDispatchFacts.begin());
}

}  // namespace

const std::string& Dispatch::at(std::string_view name) const { return values.at(fact_index(name)); }
std::string& Dispatch::at(std::string_view name) { return values.at(fact_index(name)); }

Json dispatch_to_json(const Dispatch& dispatch) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kDispatchFacts.size(); ++i) {
    json[std::string(kDispatchFacts[i].name)] = dispatch.values[i];
  }
  return json;
}

DispatchComparison compare_dispatch(const Json& recorded, const Dispatch& here) {
  DispatchComparison comparison;
  for (std::size_t i = 0; i < kDispatchFacts.size(); ++i) {
    const std::string name(kDispatchFacts[i].name);
    const auto found = recorded.is_object() ? recorded.find(name) : recorded.end();
    if (!recorded.is_object() || found == recorded.end() || !found->is_string()) {
      comparison.unknown.push_back(name);
    } else if (*found != here.values[i]) {
      comparison.differing.push_back({name, found->get<std::string>(), here.values[i]});
    }
  }
  return comparison;
}

std::string unequal_dispatch(Communicator& comm, const Dispatch& mine, std::chrono::milliseconds timeout) {
  const WireDispatch record = to_wire(mine);
  std::vector<WireDispatch> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(&record, 1)), std::as_writable_bytes(std::span(all)),
                  {"dispatch", 0, timeout});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < kDispatchFacts.size(); ++i) {
      if (all[rank][i] == all[0][i]) continue;
      return "ranks differ in " + std::string(kDispatchFacts[i].name) + ": rank 0 has " + all[0][i].data() + ", rank " +
             std::to_string(rank) + " has " + all[rank][i].data();
    }
  }
  return "";
}

void refuse_unequal_dispatch(Communicator& comm, const Dispatch& mine, std::chrono::milliseconds timeout) {
  if (const std::string difference = unequal_dispatch(comm, mine, timeout); !difference.empty()) {
    throw InputError("dispatch", difference +
                                     "; bits would depend on which rank computes what: start all ranks with the same "
                                     "variables, libraries and kind of processor");
  }
}

}  // namespace samegrad
