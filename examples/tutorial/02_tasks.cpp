// 02_tasks: results, fork and join, and the two ways to fail.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <weft/weft.hpp>

using weft::Errc, weft::Nursery, weft::Result, weft::Status;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

// Fork and join: one half becomes a child, the other is computed right here. A
// child that nobody has taken yet runs inside join(), as a plain call.
long fib(int n) {
  if (n < 2) return n;
  Nursery nursery;
  auto left = nursery.spawn(fib, n - 1);  // Task<long>
  const long right = fib(n - 2);
  return left.join().value() + right;
}

// Fails by value: an outcome that a correct program expects.
Result<int> parse_port(const std::string& text) {
  if (text.empty()) return Errc::invalid;
  return std::stoi(text);  // may throw, too: both ways work side by side
}

// Joins the nursery first: its first failure, of whichever child, comes out
// here. WEFT_TRY returns it to the caller; past it all results are there.
Result<int> sum_of_ports(std::string a, std::string b) {
  Nursery nursery;
  auto first = nursery.spawn(parse_port, a);
  auto second = nursery.spawn(parse_port, b);
  WEFT_TRY(nursery.join());
  return WEFT_TRY(first.join()) + WEFT_TRY(second.join());
}

int main() {
  const int status = weft::run_main([]() -> Status {
    show(fib(20) == 6765, "fib(20) by fork and join");

    {  // arguments move in, results move out
      Nursery nursery;
      auto doubled = nursery.spawn(
          [](std::unique_ptr<int> p) {
            *p *= 2;
            return p;
          },
          std::make_unique<int>(21));
      show(**doubled.join() == 42, "a move-only value goes in and comes out");
      nursery.join().value();
    }

    show(sum_of_ports("80", "443").value() == 523, "two results, one sum");
    show(sum_of_ports("80", "").error() == Errc::invalid,
         "an error is a value: join() returns it");

    {  // an exception arrives with its type, in the fiber that joins
      Nursery nursery;
      auto bad = nursery.spawn(parse_port, std::string("port"));
      bool caught = false;
      try {
        (void)bad.join();
      } catch (const std::invalid_argument&) {
        caught = true;
      }
      show(caught, "an exception is rethrown by the Task's join()");
      caught = false;
      try {
        (void)nursery.join();
      } catch (const std::invalid_argument&) {
        caught = true;
      }
      show(caught, "and by the nursery's: a failure is never lost");
    }

    // Nobody holds the handle and nobody joins: the failure still comes out,
    // as that of the fiber around the nursery.
    Nursery nursery;
    auto parent = nursery.spawn([](Nursery& children) {
      children.spawn([]() -> Status { return weft::Error::user(7); });
    });
    show(parent.join().error().value() == 7, "an unseen failure goes up");
    show(!nursery.join(), "and further up");
    return weft::ok();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
