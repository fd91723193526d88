#include "samegrad/base/folder_lock.h"

#include <gtest/gtest.h>

#include <string>

#include "samegrad/base/error.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

class FolderLockTest : public TemporaryFolder {};

TEST_F(FolderLockTest, SecondHolderIsRefusedByNameUntilTheFirstIsGone) {
  const std::filesystem::path place = folder_ / "new";
  {
    const FolderLock first(place, "train");
    try {
      const FolderLock second(place, "train");
      FAIL() << "two holders";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("[train] " + place.string()), std::string::npos) << error.what();
    }
  }
  EXPECT_NO_THROW(FolderLock(place, "train"));
}

}  // namespace
}  // namespace samegrad
