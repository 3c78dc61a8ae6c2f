// echo.cpp: TCP echo by a thread per connection, and by bare epoll loops.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "channel.hpp"

namespace {

void no_delay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}
int listen_on(i64 port, int flags) {
  int fd = socket(AF_INET, SOCK_STREAM | flags, 0), one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  peer::check(
      !bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) &&
          !listen(fd, 512),
      "listen");
  return fd;
}
void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

}  // namespace

void echo_threads(const Run& run) {
  int listener = listen_on(run.asked, 0);
  for (;;) {
    int fd = accept(listener, nullptr, nullptr);
    if (fd < 0) continue;
    no_delay(fd);
    std::thread([fd] {
      char buffer[4096];
      for (;;) {
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got <= 0 || write(fd, buffer, static_cast<std::size_t>(got)) != got)
          break;
      }
      close(fd);
    }).detach();
  }
}

// One loop per worker; loop 0 accepts and deals the connections out.
void echo_epoll(const Run& run) {
  int listener = listen_on(run.asked, SOCK_NONBLOCK);
  std::vector<int> polls;
  for (int i = 0; i < run.workers; ++i) polls.push_back(epoll_create1(0));
  std::size_t dealt = 0;  // loop 0 only
  auto loop = [&](int poll) {
    epoll_event events[256];
    char buffer[4096];
    for (;;) {
      int ready = epoll_wait(poll, events, 256, -1);
      for (int i = 0; i < ready; ++i) {
        int fd = events[i].data.fd;
        if (fd == listener) {
          int made = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
          if (made < 0) continue;
          no_delay(made);
          watch(polls[dealt++ % polls.size()], made);
          continue;
        }
        ssize_t got = read(fd, buffer, sizeof buffer);
        if (got <= 0 || write(fd, buffer, static_cast<std::size_t>(got)) != got)
          close(fd);
      }
    }
  };
  watch(polls[0], listener);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < polls.size(); ++i)
    threads.emplace_back(loop, polls[i]);
  loop(polls[0]);
}
