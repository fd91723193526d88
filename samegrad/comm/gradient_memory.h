// Memory for gradients in which other ranks can read and write, so that an exchange moves no messages: what
// communicators offer whose ranks share memory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "samegrad/comm/communicator.h"

namespace samegrad {

/// This rank's part of the memory. After a failed exchange other ranks may still write into what was exchanged, so it
/// is not given to others then.
class GradientMemory {
 public:
  virtual ~GradientMemory() = default;

  /// `bytes` at the start of a page, free again when the last pointer is gone; nullptr where there is no room. Local.
  virtual std::shared_ptr<std::byte> allocate(std::size_t bytes) = 0;
};

/// What ranks bring to an exchange in place, and each sees of all. Bytes of one size, which all ranks know.
struct ExchangedMemory {
  std::vector<const std::byte*> parts;  ///< as many on each rank; nullptr: none
  std::byte* result = nullptr;          ///< may be one of its parts
};

class SharesGradientMemory {
 public:
  virtual ~SharesGradientMemory() = default;

  /// The same at every call. Local.
  virtual std::shared_ptr<GradientMemory> gradient_memory() = 0;

  /// When all ranks have come, `work` runs on each with what all brought, by rank, at addresses of this process;
  /// returns when it has ended on all. False, on all ranks and with nothing done, where one brought other memory than
  /// its GradientMemory. Errors as Communicator::all_to_all. Collective.
  virtual bool exchange_in_place(const ExchangedMemory& mine, std::size_t bytes,
                                 const std::function<void(std::span<const ExchangedMemory> all)>& work,
                                 const CallLabel& label) = 0;
};

/// The memory that `comm` offers, or nullptr. Local.
std::shared_ptr<GradientMemory> gradient_memory_of(Communicator& comm);

}  // namespace samegrad
