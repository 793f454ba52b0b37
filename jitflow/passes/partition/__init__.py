"""Cuts a placed function into one for each device that takes part.

    func @f(%x: f32[n], %y: f32[n]) {          func @f.cpu0(%x: f32[n], %y: f32[n]) {
      %0: f32[n] = exp %x                        send %y {channel=0, to="cpu:1"}
      %1: f32[n] = log %y  on cpu:1      ->      %0: f32[n] = exp %x
      %2: f32[n] = add %0, %1                    %1: f32[n] = recv {channel=1, source="cpu:1"}
      yield %2                                   %2: f32[n] = add %0, %1
    }                                            meet
                                                 yield %2
                                               }
                                               func @f.cpu1() {
                                                 %y: f32[n] = recv {channel=0, source="cpu:0"}
                                                 %1: f32[n] = log %y
                                                 send %1 {channel=1, to="cpu:0"}
                                                 meet
                                                 yield
                                               }

Every partition keeps the order of the whole program, and a message is awaited at the place of the program where it is
needed, which is never before the place where it is sent. So there is always one partition that can go on: the one
that is at the earliest place, even if a channel has room for one message only. Both sides of a channel take the same
ways, since a branch or a loop stands, with its condition or bounds, in every partition that has something to do in it.

blocks      where ops and values stand, and what the sizes that they mention are bound by
homes       where each value is computed, which ops any partition may compute for itself, who takes part in a region
crossing    what crosses from where to where, and when it is needed first
waiting     the order of effects: tokens, the meeting before the first store to a lasting variable, notes of progress
cut         the functions
returned    before that: results that are memory of another process are brought home
records     what comes out, how it is printed, verified and interpreted

Relies on the pass that decides on devices: the attribute ``device`` of each op, ``devices`` of the function. It runs
behind the tensor pipeline and before fusion.
"""

from jitflow.passes.partition.cut import partition
from jitflow.passes.partition.records import (
    Partition,
    Partitioned,
    interpret_partitioned,
    print_partitioned,
    verify_partitioned,
)
from jitflow.passes.partition.returned import bring_results_home

__all__ = ["Partition", "Partitioned", "bring_results_home", "interpret_partitioned", "partition",
           "print_partitioned", "verify_partitioned"]  # fmt: skip
