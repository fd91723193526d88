// SIGTERM, SIGINT and SIGHUP as a wish to stop at the next safe point, SIGUSR1 as one to save there.
#pragma once

namespace samegrad {

/// From now on a first SIGTERM, SIGINT or SIGHUP is only remembered; another SIGTERM or SIGINT, at least 0.1 s later
/// (`timeout` sends its signal twice), ends the process as if nobody handled it. SIGUSR1 is remembered, however often
/// it comes. A signal that the process was started to ignore stays ignored. For programs, never for a library. Local.
void install_stop_signals();

/// The signal that asked this process to stop, or 0. Local.
int stop_signal();

/// Waits until stop_signal(), or a call of end_wait_for_stop_signal(). One thread at a time. Local.
void wait_for_stop_signal();
void end_wait_for_stop_signal();

/// Whether SIGUSR1 has come since the last call of forget_save_signal(). Local.
bool save_signal();
void forget_save_signal();

/// Until install_stop_signals() or release_signals(), also in programs that this process starts or that take its place,
/// SIGTERM, SIGINT, SIGHUP and SIGUSR1 wait: by themselves they would end the process, and a wish to stop or save would
/// be lost. Local.
void hold_signals();
/// Those that wait act now, as on any program. Nothing where they were not held. Local.
void release_signals();

/// From now on the time in which a terminal's SIGTSTP stops this process is known (base/stopped_time.h). Local.
void note_terminal_stops();

}  // namespace samegrad
