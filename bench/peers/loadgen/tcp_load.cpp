// Closed-loop TCP echo load from one epoll thread, after half a second of
// warm-up; prints one JSON line.
//   tcp_load <port> <connections> <bytes> <seconds> <server_pid>
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../common/peer.hpp"

namespace {

using peer::Clock;
using peer::i64;

double server_cpu_ms(const char* pid) {
  std::ifstream in(std::string("/proc/") + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  i64 user = 0, kernel = 0;
  std::sscanf(text.c_str() + name_end + 2,
              "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &user,
              &kernel);
  return static_cast<double>(user + kernel) * 1000 / sysconf(_SC_CLK_TCK);
}

struct Connection {
  int fd = -1;
  ssize_t got = 0;
  Clock::time_point sent;
};

int dial(int port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address)) {
    std::perror("connect");
    std::exit(1);
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  return fd;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: %s <port> <connections> <bytes> <seconds> "
                 "<server_pid>\n",
                 argv[0]);
    return 2;
  }
  std::vector<Connection> connections(std::strtoul(argv[2], nullptr, 10));
  std::string message(std::strtoul(argv[3], nullptr, 10), 'x');
  std::chrono::duration<double> seconds(std::atof(argv[4]));
  const char* pid = argv[5];
  if (connections.empty() || message.empty()) return 2;
  auto send = [&](Connection& connection) {
    connection.sent = Clock::now();
    connection.got = 0;
    auto all = static_cast<ssize_t>(message.size());
    if (write(connection.fd, message.data(), message.size()) != all) {
      std::perror("write");
      std::exit(1);
    }
  };
  int poll = epoll_create1(0);
  for (auto& connection : connections) {
    connection.fd = dial(std::atoi(argv[1]));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    epoll_ctl(poll, EPOLL_CTL_ADD, connection.fd, &event);
  }
  std::vector<double> latency_us;
  latency_us.reserve(4'000'000);
  for (auto& connection : connections) send(connection);
  auto start = Clock::now() + std::chrono::milliseconds(500);
  auto end = start + std::chrono::duration_cast<Clock::duration>(seconds);
  bool counting = false;
  double server = 0, client = 0;
  std::vector<char> buffer(65536);
  epoll_event events[256];
  for (auto now = Clock::now(); now < end; now = Clock::now()) {
    if (!counting && now >= start) {
      counting = true;
      server = server_cpu_ms(pid);
      client = peer::cpu_ms();
      start = now;
    }
    int ready = epoll_wait(poll, events, 256, 100);
    for (int i = 0; i < ready; ++i) {
      auto& connection = *static_cast<Connection*>(events[i].data.ptr);
      ssize_t got = read(connection.fd, buffer.data(), buffer.size());
      if (got <= 0) {
        std::fprintf(stderr, "connection lost\n");
        return 1;
      }
      connection.got += got;
      if (connection.got < static_cast<ssize_t>(message.size())) continue;
      if (counting) latency_us.push_back(peer::ns_since(connection.sent) / 1e3);
      send(connection);
    }
  }
  double elapsed = peer::ns_since(start) / 1e9;
  server = server_cpu_ms(pid) - server;
  client = peer::cpu_ms() - client;
  if (latency_us.empty()) {
    std::fprintf(stderr, "no answer came\n");
    return 1;
  }
  std::sort(latency_us.begin(), latency_us.end());
  std::size_t done = latency_us.size();
  std::printf(
      "{\"metric\":\"ops_per_sec\",\"value\":%.0f,\"n\":%zu,"
      "\"server_cpu_ms\":%.0f,\"server_cpu_us_per_op\":%.3f,"
      "\"client_cpu_ms\":%.0f,\"lat_p50_us\":%.1f,\"lat_p99_us\":%.1f}\n",
      static_cast<double>(done) / elapsed, done, server,
      server * 1e3 / static_cast<double>(done), client, latency_us[done / 2],
      latency_us[done * 99 / 100]);
}
