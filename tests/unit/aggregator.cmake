# SPDX-License-Identifier: Apache-2.0
foreach(module clock_places receiver_bundle relay run_state source_stream window_orders)
  rkt_test(unit_${module} SOURCES test_${module}.c LINK rkt_aggregator LABELS unit)
endforeach()
# Both ends of a protocol.
rkt_test(unit_clock_schedule SOURCES test_clock_schedule.c LINK rkt_sidecar LABELS unit)
rkt_test(unit_clock_probe SOURCES test_clock_probe.c LINK rkt_sidecar rkt_aggregator LABELS unit)
rkt_test(unit_run SOURCES test_run.c loop_run.c LINK rkt_sidecar rkt_aggregator Threads::Threads LABELS unit)
rkt_test(unit_receiver SOURCES test_receiver.c LINK rkt_aggregator LABELS unit)
target_link_options(unit_receiver PRIVATE LINKER:--wrap=fdatasync)
foreach(kind tree sharded)
  rkt_test(unit_${kind} SOURCES test_${kind}.c tree_run.c loop_run.c
           LINK rkt_sidecar rkt_aggregator Threads::Threads LABELS unit)
endforeach()
foreach(module relay_shard shards)
  rkt_test(unit_${module} SOURCES test_${module}.c sample.c LINK rkt_aggregator LABELS unit)
endforeach()
