// Catches the error of a config that must be refused.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "samegrad/base/error.h"

namespace samegrad {

/// The message of the InputError that `action` throws; a test failure and "" where it throws none.
template <typename Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

}  // namespace samegrad
