# Runs a sweep of the simulator in parts, on any number of machines: one process and one file for each part.
#
#     snakemake --snakefile packaging/snakemake/sweep.smk --config plan=PLAN.toml out=DIR parts=16 --cores all
#
# and on a cluster (see slurm/config.yaml beside this file)
#
#     snakemake --snakefile packaging/snakemake/sweep.smk --config plan=PLAN.toml out=DIR parts=16 --profile packaging/snakemake/slurm
#
# DIR has to be where all machines see it. DIR/results.jsonl is what `mpt-sim sweep PLAN.toml` gives, in another order.
# Other keys of --config: sim, the simulator (default: mpt-sim in PATH).

from shlex import quote

for key in ["plan", "out"]:
    if key not in config:
        raise SystemExit("snakemake ... --config plan=PLAN.toml out=DIR parts=16")

PLAN = config["plan"]
OUT = config["out"]
PARTS = int(config.get("parts", 16))
SIM = quote(config.get("sim", "mpt-sim"))


rule all:
    input:
        f"{OUT}/results.jsonl",


# A process takes all cores of its machine. What an interrupted one has done stays in the unfinished file.
rule part:
    input:
        PLAN,
    output:
        f"{OUT}/parts/{{part}}.jsonl",
    params:
        unfinished=lambda wildcards: f"{OUT}/parts/{wildcards.part}.unfinished",
        part=lambda wildcards: f"{wildcards.part}/{PARTS}",
    threads: workflow.cores
    shell:
        "{SIM} sweep {input:q} --part {params.part} --out {params.unfinished:q}"
        " && mv {params.unfinished:q} {output:q}"


rule join:
    input:
        expand(f"{OUT}/parts/{{part}}.jsonl", part=range(1, PARTS + 1)),
    output:
        f"{OUT}/results.jsonl",
    shell:
        "cat {input:q} > {output:q}"


localrules:
    all,
    join,
