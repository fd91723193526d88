// What the command line says about starting and watching processes.
#pragma once

#include <cstdint>
#include <string>

namespace samegrad {

struct LaunchSettings {
  std::int64_t max_restarts = 0;
  std::int64_t min_nproc = 0;  ///< 0: as many as are started
  std::int64_t grace_s = 0;    ///< from SIGTERM to SIGKILL; 0: not given
  std::string failure_json;    ///< file; empty: none
  std::string log_dir;         ///< empty: none
  std::string redirects;       ///< as samegrad/launch/stream_modes.h reads it; so is the next
  std::string tee;
  bool prefix = true;          ///< launch: "[rank N] " before each line
  std::string store = "auto";  ///< launch: auto or no
  std::string master_addr = "127.0.0.1";
  std::int64_t master_port = 0;  ///< 0: a free one
  bool standalone = false;       ///< what launch always is
  std::string run_id = "none";
  double monitor_interval = 0.1;  ///< taken and not used: ends are events
};

}  // namespace samegrad
