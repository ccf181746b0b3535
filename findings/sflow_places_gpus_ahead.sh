#!/bin/sh
# Behaviour: nv-sflow assigns the GPUs of all tasks before it starts any. Parallel replicas that ask for one GPU each do not wait for a free one: with
# four replicas and two GPUs nothing runs and the command fails, though each replica ends at once. As many replicas as GPUs run; so do four with
# `policy: sequential`. A sweep over more shards than GPUs must loop inside a replica, or use another engine.
# Seen with: nv-sflow 0.3.1 (PyPI), backend local, on 2026-11-28.
# Exit status 0: as described; 1: it has changed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q nv-sflow==0.3.1
cd "$work"
flow() { # REPLICAS POLICY GPUS
    cat >flow.yaml <<X
version: "0.1"
backends:
  - {name: here, type: local, default: true, nodes: 1, gpus_per_node: $3}
workflow:
  name: w
  tasks:
    - name: t
      replicas: {count: $1, policy: $2}
      resources: {gpus: {count: 1}}
      script: ["echo \$CUDA_VISIBLE_DEVICES >>$work/ran"]
X
    : >ran
    status=0
    venv/bin/sflow run -f flow.yaml >log 2>&1 || status=$?
    echo "$1 replicas, $2, $3 GPUs: exit $status, $(wc -l <ran) ran"
}
flow 4 parallel 2; [ "$status" != 0 ] && [ ! -s ran ] && grep -qi 'failed placement' log || exit 1
flow 4 parallel 4; [ "$status" = 0 ] && [ "$(sort -u ran | wc -l)" = 4 ] || exit 1
flow 4 sequential 2; [ "$status" = 0 ] && [ "$(wc -l <ran)" = 4 ] || exit 1
