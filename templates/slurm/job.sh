#!/bin/sh
{# The script of one attempt: the options of sbatch are given on its command line and win over #SBATCH lines here. -#}
{% if scontrol -%}
export COSCHED_HOSTS="$('{{ scontrol }}' show hostnames "$SLURM_JOB_NODELIST" | paste -sd, -)"
{% else -%}
unset COSCHED_HOSTS
{% endif -%}
{# A job on one host needs no step of its own, which saves the time that srun takes. -#}
{% if count == 1 -%}
exec '{{ script }}'
{% else -%}
exec '{{ srun }}' --nodes={{ count }} --ntasks={{ count }} --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --mpi=none --input=none '{{ script }}'
{% endif -%}
