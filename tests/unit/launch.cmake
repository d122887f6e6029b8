# SPDX-License-Identifier: Apache-2.0
rkt_test(unit_rank_env SOURCES test_rank_env.c LINK rkt_launch LABELS unit)
rkt_test(unit_job_env SOURCES test_job_env.c LINK rkt_launch LABELS unit)
rkt_test(unit_install SOURCES test_install.c LINK rkt_launch LABELS unit)
rkt_test(unit_run_check SOURCES test_run_check.c LINK rkt_launch LABELS unit)
rkt_test(unit_hold SOURCES test_hold.c LINK rkt_launch LABELS unit)
rkt_test(unit_step_limit SOURCES test_step_limit.c LINK rkt_launch LABELS unit)
rkt_test(unit_mpi_watch SOURCES test_mpi_watch.c LINK rkt_launch LABELS unit)
rkt_test(unit_sidecar_options SOURCES test_sidecar_options.c LINK rkt_launch LABELS unit)
rkt_test(unit_fan_in SOURCES test_fan_in.c LINK rkt_launch LABELS unit)
rkt_test(unit_report_team
         SOURCES test_report_team.c store_maker.c sample.c ${PROJECT_SOURCE_DIR}/launch/report_team.c
         LINK rkt_launch rkt_common LABELS unit)
rkt_test(unit_free_port SOURCES test_free_port.c LINK rkt_launch LABELS unit)
rkt_test(unit_own_address SOURCES test_own_address.c LINK rkt_launch LABELS unit)
rkt_test(unit_window_options SOURCES test_window_options.c LINK rkt_launch LABELS unit)
rkt_test(unit_signals SOURCES test_signals.c LINK rkt_launch LABELS unit)

rkt_script_test(unit_torch_hook torch_hook/torch_hook.py LABELS unit)
