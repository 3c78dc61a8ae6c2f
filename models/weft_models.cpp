// weft_models.cpp: weft-models, which runs all models and all mutations.
#include "protocol.hpp"

int main(int argc, char** argv) {
  using namespace weft::model;
  return check_main(
      argc, argv,
      {work_deque(),    ring(),         global_queue(),   private_queue(),
       join_word(),     control_word(), near(),           family(),
       scopes(),        frames(),       idle(),           kept(),
       ranked(),        admission(),    timers(),         wait_list(),
       thread_wait(),   mutex(),        futex(),          future(),
       sequencer(),     lines(),        channel(),        channel_end(),
       channel_owner(), mistakes(),     mistaken_queues()});
}
