/* Subcommands: one file each, one line in main.c. argv[0] is the subcommand's name; the return
 * value is the exit status (enum status). */
#ifndef NUMALOAD_CMD_H
#define NUMALOAD_CMD_H

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_elbencho(int argc, char **argv);
int cmd_prepare(int argc, char **argv);
int cmd_matrix(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_place(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
