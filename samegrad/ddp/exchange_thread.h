// A thread that exchanges buckets while backward still computes the next ones.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace samegrad {

/// Runs jobs one after another, in the order given. After a job has thrown, later ones are not run.
class ExchangeThread {
 public:
  ExchangeThread();
  /// Ends after the job that runs now.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  /// Local.
  void submit(std::function<void()> job);
  /// Returns when all jobs are done; throws what the first failing one threw, once. Local.
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  bool end_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace samegrad
