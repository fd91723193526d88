// What a program does where a file that it has mapped is cut by somebody while it reads there: the kernel sends SIGBUS,
// which would end it without a word.
#pragma once

#include <string>

namespace samegrad {

/// From now on: `tell` gets the line "[files] PATH: ..." for the file that was cut, or whose disk fails, and the
/// process ends with exit code 2. A bus error of another cause ends the process as before. `tell` runs in a signal
/// handler, but of a signal that only a read or write of mapped memory sends, so that no lock of the library is held;
/// should it hang nevertheless, SIGALRM ends the process. For a program's main: a library installs no handlers. Local.
void tell_of_cut_files(void (*tell)(const std::string& line));

}  // namespace samegrad
