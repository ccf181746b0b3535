"""counts.py FILE: writes emu's counts of each row of an export to FILE, and says whether the run counted."""
import json
import sys

export = json.load(sys.stdin)
with open(sys.argv[1], "w") as f:
    for row in export["rows"]:
        if row["status"] != "skipped":
            print(row["id"], row["status"], row["ran"], row["part_because"], file=f)
            print("compared", row["compared"], row["uncompared"], file=f)
            for m in row["metrics"]:
                if m["metric"].startswith(("emu.", "warp.")):
                    print(m["metric"], m["metric_step"], m["line"], m["value"], file=f)
print("counted" if export["run"]["counting_s"] else "kept", sum(row["status"] == "ok" for row in export["rows"]))
