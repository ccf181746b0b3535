# kill -9 of the parent, of a GPU's process or of a worker of a run on three emulated GPUs, and of a join, at random moments: no row is lost,
# doubled or changed. ci/fleet-kills 200 does it 200 times.
need nvrtc
need python3
sh "$TOP/ci/fleet-kills" 3${LONG:+0} "$(date +%N)" >out 2>&1 || fail "$(cat out)"
