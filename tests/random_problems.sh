#!/bin/sh
# random_problems.sh PROGRAM PROCESSES: runs the random kernel problems, graphs, programs and functions that are
# differentiated of weft_tests in so many processes side by side, and prints how many ran in all, and each that failed with the seed that makes it again. Settings:
#   WEFT_SEED                 where the seeds begin: today's date by default
#   WEFT_DIFFERENTIAL_CASES   problems of each kernel on each device (800)
#   WEFT_DIFFERENTIAL_ALIKE   of these so many have one form, and share their shaders (8)
#   WEFT_RANDOM_GRAPHS        graphs on each device (1000)
#   WEFT_RANDOM_PROGRAMS      programs of tensor operations on each device (1000)
#   WEFT_RANDOM_DERIVATIVES   functions that are differentiated on each device (1000)
#   WEFT_FUSED_PAIRS          functions H for each pair of F and G in one kernel, on each device (1)
#   WEFT_FUSED_NIGHTS         days in which all of these pairs are tested, a part each day (14)
#   WEFT_TEST_DEVICES         the devices: all by default
#   WEFT_LEAST_PROBLEMS       with fewer kernel problems in all the run has failed (1)
set -eu
program=$1
processes=$2
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
export WEFT_SEED="${WEFT_SEED:-$(date +%Y%m%d)000}" WEFT_DIFFERENTIAL_CASES="${WEFT_DIFFERENTIAL_CASES:-800}"
export WEFT_DIFFERENTIAL_ALIKE="${WEFT_DIFFERENTIAL_ALIKE:-8}"
# The processes take the cores; threads of LAPACK beside them wait for each other.
export OPENBLAS_NUM_THREADS=1
graphs=$(((${WEFT_RANDOM_GRAPHS:-1000} + processes - 1) / processes))
programs=$(((${WEFT_RANDOM_PROGRAMS:-1000} + processes - 1) / processes))
derivatives=$(((${WEFT_RANDOM_DERIVATIVES:-1000} + processes - 1) / processes))
started=$(date +%s)
today=$((started / 86400))
nights=${WEFT_FUSED_NIGHTS:-14}
echo "seed $WEFT_SEED"
i=0
running=
while [ "$i" -lt "$processes" ]; do
  (
    status=0
    # A process keeps the shaders of all its problems: several, one after the other, need less memory.
    part=$i
    while [ "$part" -lt $((processes * 6)) ]; do
      GTEST_TOTAL_SHARDS=$((processes * 6)) GTEST_SHARD_INDEX=$part "$program" --gtest_filter='Differential.*' || status=$?
      part=$((part + processes))
    done
    WEFT_RANDOM_GRAPHS=$graphs WEFT_RANDOM_SEED=$((WEFT_SEED % 1000000000 + i * graphs)) \
      "$program" --gtest_filter='Devices/CompileTest.RandomGraphsComputeWhatCpuKernelsDo/*' || status=$?
    WEFT_RANDOM_PROGRAMS=$programs WEFT_RANDOM_SEED=$((WEFT_SEED % 1000000000 + i * programs)) \
      "$program" --gtest_filter='Devices/Programs.EvaluatedLaterComputeTheSame/*' || status=$?
    WEFT_RANDOM_DERIVATIVES=$derivatives WEFT_RANDOM_SEED=$((WEFT_SEED % 1000000000 + i * derivatives)) \
      "$program" --gtest_filter='Devices/RandomFunctions.*' || status=$?
    # A software GPU compiles each kernel on the CPU: all pairs of one device take two cores some three hours.
    WEFT_FUSED_PAIRS="${WEFT_FUSED_PAIRS:-1}" WEFT_FUSED_PART="$((today % nights * processes + i + 1))/$((nights * processes))" \
      "$program" --gtest_filter='Devices/FusedFunctions.*' || status=$?
    exit "$status"
  ) >"$logs/$i" 2>&1 &
  running="$running $!"
  i=$((i + 1))
done
failed=0
for process in $running; do wait "$process" || failed=1; done
[ "$failed" -eq 0 ] || grep -h -A 8 'Failure$' "$logs"/* | cut -c 1-400 | head -n 400
awk '/PROBLEMS.*failed:/ { kind = $4 " " $5; run[kind] += $6; bad[kind] += $NF }
     /PROBLEMS.*WEFT_/ { print }
     END { for (kind in run) print kind, run[kind], "failed:", bad[kind] }' "$logs"/*
echo "$(($(date +%s) - started)) s in $processes processes"
# A process that ended early has counted nothing.
[ "$(cat "$logs"/* | grep -c 'PROBLEMS.*random derivatives')" -ge "$processes" ] || { echo "a process ended early:"; tail -n 5 "$logs"/*; failed=1; }
ran=$(awk '/PROBLEMS.*differential problems/ { n += $6 } END { print n + 0 }' "$logs"/*)
least=${WEFT_LEAST_PROBLEMS:-1}
[ "$ran" -ge "$least" ] || { echo "$ran kernel problems ran, expected $least: were there devices?"; failed=1; }
exit "$failed"
