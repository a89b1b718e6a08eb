"""Files that ratings come from and go to: exports of pools, tables of starting ratings, dumps of other programs.

Pure: open files and lines come in, values go out.
"""
