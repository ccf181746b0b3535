"""compare.py WHOLE.json SAMPLED.json [ROWS SHARE]: counts from some blocks of each class against those of all blocks, row by row. At least so
many rows must be counted from some blocks, and at least such a share exactly."""
import json
import sys

NEGLIGIBLE = 1e-4  # of the executed instructions: a counter of less than that decides nothing


def counts(path):
    rows = {}
    for row in json.load(open(path))["rows"]:
        if row["status"] == "ok":
            rows[row["id"]] = (row, {m["metric"]: m["value"] for m in row["metrics"]
                                     if m["metric_step"] == -1 and not m["line"] and m["metric"].startswith("emu.")})
    return rows


whole, sampled = counts(sys.argv[1]), counts(sys.argv[2])
wrong, exact, few = [], 0, 0
if set(whole) != set(sampled):
    wrong.append(f"other rows: {sorted(set(whole) ^ set(sampled))}")
for name in sorted(set(whole) & set(sampled)):
    (_, want), (row, got) = whole[name], sampled[name]
    if row["cropped"] or not row["ran"]:
        wrong.append(f"{name}: not counted as a whole layer: {row['note']}")
        continue
    # Blocks of unequal work: where the work lies decides, and an estimate draws it.
    unequal = [want.pop(k, 0) / max(1, got.get(k, 0)) for k in ("emu.unequal_sm", "emu.unequal_place", "emu.unequal_busy") if k in want or k in got]
    wrong += [f"{name}: unequal blocks: {r:.2f} times as much as estimated, {row['ran']}" for r in unequal if not 1 / 1.15 < r < 1.15]
    few += got["emu.blocks_counted"] < got["emu.blocks"]
    least = NEGLIGIBLE * want["emu.warp_instructions"]
    away = {k: abs(got.get(k, 0) - v) for k, v in want.items() if "unique" not in k and not k.startswith(("emu.path", "emu.first_sectors"))}  # those are estimates
    exact += not any(away.values())
    allowed = max(0.01, got.get("emu.sample_error", 0))
    wrong += [f"{name}: {k} {got.get(k, 0):.0f} for {want[k]:.0f}, {row['ran']}" for k, d in away.items()
              if d > allowed * want[k] and d > least and "divergent" not in k]
    if got.get("emu.sample_error") == 0 and got["emu.warp_instructions"] != want["emu.warp_instructions"]:
        wrong.append(f"{name}: said to be exact, {got['emu.warp_instructions']:.0f} for {want['emu.warp_instructions']:.0f}, {row['ran']}")
print(f"{len(whole)} rows, {few} from some of their blocks, {exact} with all counts equal")
print("\n".join(wrong))
least, share = (float(a) for a in sys.argv[3:] or (15, 0.8))
sys.exit(bool(wrong) or few < least or exact < share * len(whole))
