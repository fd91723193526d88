#include "samegrad/checkpoint/step_name.h"

#include <gtest/gtest.h>

namespace samegrad {
namespace {

TEST(StepName, HasFourDigitsAndMoreWhereNeeded) {
  EXPECT_EQ(step_folder_name(0), "step-0000");
  EXPECT_EQ(step_folder_name(50), "step-0050");
  EXPECT_EQ(step_folder_name(12345), "step-12345");
}

TEST(StepName, IsReadBackOnlyInTheFormThatIsWritten) {
  for (const std::int64_t update : {0L, 50L, 9999L, 10000L, 9223372036854775807L}) {
    EXPECT_EQ(parse_step_folder_name(step_folder_name(update)), update);
  }
  for (const char* name : {"step-", "step-50", "step-00050", "step--050", "step-+050", "step-0050x", "xstep-0050",
                           "step-0050 ", "step-9223372036854775808", ".saving-step-0050-7"}) {
    EXPECT_EQ(parse_step_folder_name(name), std::nullopt) << name;
  }
}

TEST(StepName, HiddenNamesAreReadBackOnlyInTheFormThatIsWritten) {
  const std::optional<AsideName> name = parse_aside_name(".replaced-step-0050-0123abcd-77");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->kind, AsideKind::kReplaced);
  EXPECT_EQ(name->update, 50);
  EXPECT_EQ(name->owner.host, "0123abcd");
  EXPECT_EQ(name->owner.process, 77);
  EXPECT_EQ(name->text(), ".replaced-step-0050-0123abcd-77");
  for (const char* text :
       {".saving-step-0050", ".saving-step-0050-", ".saving-step-0050-x", ".saving-0050-0123abcd-1",
        ".saving-step-0050-1", ".saving-step-0050-0123abcd-0", ".saving-step-0050-0123abcd-007",
        ".saving-step-50-0123abcd-1", ".other-step-0050-0123abcd-1", "step-0050", ".saving-", ".saving", ""}) {
    EXPECT_FALSE(parse_aside_name(text)) << text;
  }
}

}  // namespace
}  // namespace samegrad
