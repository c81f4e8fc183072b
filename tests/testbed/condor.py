"""Command: start a real HTCondor pool and keep it until the command is ended.

    python -m tests.testbed.condor --hosts 16 [--dir DIR]     prints one line of JSON, stops the pool at SIGINT/SIGTERM
    python -m tests.testbed.condor --dir DIR --take node03    takes a host of a running pool off
    python -m tests.testbed.condor --dir DIR --give node03    and gives it back
    python -m tests.testbed.condor --prepare                  only downloads and unpacks HTCondor
"""
