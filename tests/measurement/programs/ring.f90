! A ring of Fortran, without what compilers of Fortran link: `ring NUMBERS STEPS`; run by test_languages.py.
subroutine ring(n, steps, off) bind(c)
  use iso_c_binding
  implicit none
  integer(c_int), value :: n, steps
  integer(c_int) :: off
  ! As Open MPI's mpif.h has them.
  integer, parameter :: world = 0, double_precision = 17, summed = 3
  integer :: rank, ranks, error, step, status(6), before, after
  double precision :: u(1000), mine, all
  call mpi_init(error)
  call mpi_comm_rank(world, rank, error)
  call mpi_comm_size(world, ranks, error)
  u = rank
  after = modulo(rank + 1, ranks)
  before = modulo(rank - 1, ranks)
  do step = 1, steps
    call mpi_sendrecv_replace(u, n, double_precision, after, 0, before, 0, world, status, error)
  end do
  mine = abs(u(1) - modulo(rank - steps, ranks))
  call mpi_allreduce(mine, all, 1, double_precision, summed, world, error)
  off = nint(all)
  call mpi_finalize(error)
end subroutine
