// main.cpp: weft-bench, the benchmarks of weft; `weft-bench --help`.
#include "harness.hpp"

int main(int argc, char** argv) { return bench::main(argc, argv); }
