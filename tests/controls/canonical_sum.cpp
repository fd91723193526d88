// `canonical_sum RANKS ATOMS FILE`: FILE holds the float32 gradients of ATOMS atoms, one after the other. Writes to
// standard output what reduce_canonically makes of them over RANKS ranks (threads), divided by 1.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "samegrad/comm/canonical_reduction.h"
#include "samegrad/comm/thread_communicator.h"

namespace samegrad {
namespace {

using Values = std::vector<float>;

std::vector<Values> read_atoms(const std::string& path, std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* const values = reinterpret_cast<const float*>(bytes.data());
  const std::size_t elements = bytes.size() / sizeof(float) / count;
  std::vector<Values> atoms;
  for (std::size_t a = 0; a < count; ++a) atoms.emplace_back(values + a * elements, values + (a + 1) * elements);
  return atoms;
}

Values subtree_sum(const std::vector<Values>& atoms, AtomRange node) {
  if (node.size() == 1) return atoms[static_cast<std::size_t>(node.begin)];
  const std::int64_t middle = node.begin + tree_split(node.size());
  Values sum = subtree_sum(atoms, {node.begin, middle});
  const Values right = subtree_sum(atoms, {middle, node.end});
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += right[k];
  return sum;
}

Values on_rank(Communicator& comm, const std::vector<Values>& atoms) {
  const auto count = static_cast<std::int64_t>(atoms.size());
  const std::vector<AtomRange> ranges = rank_ranges(count, comm.size());
  std::vector<Values> sums;
  std::vector<SubtreeGradient<float>> mine;
  for (const AtomRange& node : maximal_subtrees(count, ranges[static_cast<std::size_t>(comm.rank())])) {
    sums.push_back(subtree_sum(atoms, node));
    mine.push_back({node, sums.back().data()});
  }
  Values result(atoms[0].size());
  reduce_canonically(comm, ranges, mine, result, 1.0, {"gradient", 1});
  return result;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::vector<samegrad::Values> atoms = samegrad::read_atoms(argv[3], std::stoul(argv[2]));
  auto comms = samegrad::make_thread_communicators(std::stoi(argv[1]));
  std::vector<samegrad::Values> results(comms.size());
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < comms.size(); ++r) {
    ranks.emplace_back([&, r] { results[r] = samegrad::on_rank(*comms[r], atoms); });
  }
  for (std::thread& rank : ranks) rank.join();
  for (const samegrad::Values& result : results) {
    if (result != results[0]) return 1;
  }
  std::fwrite(results[0].data(), sizeof(float), results[0].size(), stdout);
  return 0;
}
