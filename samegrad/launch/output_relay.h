// The workers' standard output and error on their way to the launcher's own and into files.
#pragma once

#include <poll.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/launch/output_lines.h"

namespace samegrad {

struct OutputOptions {
  int fd = -1;                         ///< takes the workers' output and error, as they are; -1: what follows does
  bool prefix = false;                 ///< lines on the launcher's own output begin with "[rank N] "
  std::filesystem::path log_folder{};  ///< of attempt_<a>/rank-<r>/{stdout,stderr}.log; "": no files
  std::string redirects{};             ///< into files instead (stream_modes.h)
  std::string tee{};                   ///< into files, too
};

/// Never blocks but for files, and holds at most about 300 KiB. Where the launcher's output is slow, workers wait for
/// it as they would for any pipe; where it is closed, what they print there is dropped, and they go on.
class OutputRelay {
 public:
  /// Makes the files of attempt `attempt`. Throws InputError where `options` are none, or a file cannot be made. Local.
  OutputRelay(const OutputOptions& options, int processes, int attempt);
  ~OutputRelay();
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  /// What the worker gets; -1: it has the launcher's own. The descriptors are to be closed by let_go().
  int output_fd(int rank) const;
  int error_fd(int rank) const;
  /// Closes the workers' ends: all workers run. Local.
  void let_go();

  /// Adds what to wait for. Local.
  void add_polls(std::vector<pollfd>& polls) const;
  /// Moves what can be moved without waiting. Local.
  void move();
  /// A line of the launcher's own, on standard error, in its turn. Local.
  void say(std::string_view line);

  /// Bytes that came and are not passed on yet. Local.
  std::size_t waiting() const;
  /// After the last worker: takes what is left in the pipes, and unfinished lines. Local.
  void finish();
  /// Nothing more is shown. Local.
  void drop();

  /// The last line of the rank's standard error; nothing where it does not come through here. Local.
  std::optional<std::string> last_error_line(int rank) const;
  /// The file that has all of the rank's standard error; "": none. Local.
  std::string error_log(int rank) const;

 private:
  struct Sink {
    int fd = -1;
    std::string waiting;
    bool closed = false;
    void write_some();
  };
  struct Source {
    int rank = 0;
    int read_fd = -1;    ///< -1: at its end
    int worker_fd = -1;  ///< the worker's end, or its file
    int log_fd = -1;
    bool relayed = false;
    Sink* sink = nullptr;  ///< nullptr: only a file
    std::string log_path;
    OutputLines lines{""};
  };

  void open_source(Source& source, const OutputOptions& options, bool to_file, bool to_console, const char* file,
                   int attempt);
  bool take_from(Source& source);
  void read_end(Source& source);

  Sink output_;
  Sink error_;
  std::vector<Source> outputs_;  // by rank
  std::vector<Source> errors_;
};

}  // namespace samegrad
