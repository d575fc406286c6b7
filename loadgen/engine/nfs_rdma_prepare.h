/* 'numaload prepare' of a file that is named by an nfs-rdma URL. */
#ifndef NUMALOAD_NFS_RDMA_PREPARE_H
#define NUMALOAD_NFS_RDMA_PREPARE_H

#include "../profile.h"
#include "../run/prepare.h"

/* Whether the profile's path is for this and not for the kernel's files. */
bool nfs_rdma_named(const struct profile *p);

/* Writes `size` bytes of data over one connection, 16 blocks at a time, and the note beside the
 * file (datanote.h), as prepare_files does with the kernel's. STATUS_USAGE for several files. */
bool nfs_rdma_prepare(const struct profile *p, struct prepared *done, struct err *err);

#endif
