// SIGTERM and SIGINT as a wish to stop at the next safe point.
#pragma once

namespace samegrad {

/// From now on a first SIGTERM or SIGINT is only remembered; another one, at least 0.1 s later (`timeout` sends its
/// signal twice), ends the process as if nobody handled it. A signal that the process was started to ignore stays
/// ignored. For programs, never for a library. Local.
void install_stop_signals();

/// The signal that asked this process to stop, or 0. Local.
int stop_signal();

}  // namespace samegrad
