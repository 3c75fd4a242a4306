"""Arrays in GPU memory for CuPy, PyTorch and others, without copies: the spins of a simulation, and
sums over them.

    sim = rewise.Simulation(g, 2.4, device="cuda", engine="bytespin", replicas=4)
    s = cupy.asarray(sim.spins_device)              # or torch.as_tensor(.., device="cuda"),
    for step in sim.iterate(1000, every=10):        # cupy.from_dlpack(..), torch.from_dlpack(..)
        mine.append(float(my_observable(s)))
"""

import numpy as np


class DeviceArray:
    """An array on a GPU, exported by `__cuda_array_interface__` (version 3) and by DLPack. Do not
    write into it. It keeps its simulation alive.
    """

    def __init__(self, simulation, core, dtype):
        self.device, self._scalar, self._place = simulation.device, simulation._scalar, core
        _, self._address, self.shape, self.strides = core(self._scalar)
        self.dtype = np.dtype(dtype)

    @property
    def __cuda_array_interface__(self):
        return {"version": 3, "data": (self._address, False), "shape": self.shape,
                "strides": self.strides, "typestr": self.dtype.str, "stream": None}

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule. `stream` is ignored: all GPU work of a call has ended when the call
        returns."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"{type(self).__name__}: neither copies nor other devices are "
                              "supported here; read it on its device and copy the result")
        return self._place(self._scalar)[0]

    def __dlpack_device__(self):
        return 2, int(self.device.split(":")[1])  # kDLCUDA

    def __repr__(self):
        return f"<rewise.{type(self).__name__}: {self.dtype} {list(self.shape)} on {self.device}>"


class DeviceSpins(DeviceArray):
    """The spins on a GPU (Simulation.spins_device). The layout depends on the engine:

    bytespin: uint8 [temperature, replica, *extents reversed], x last
        ([.., sites] without a lattice):
        Ising 0 (down) or 1 (up), Potts 0..q - 1. If the temperature was given as a number, the
        first axis is missing, as in Simulation.spins.
    multispin: int32 words [b // V, slot, b % V], V from 1 to 8. Bit r of a word is replica
        32 b + r, where b is the word group, counted through all temperatures. `slots` [sites] are
        the indices of the sites on the second axis, which has other words, too. For V = 1:

            up = (words[:, spins.slots, 0, None] >> r) & 1  # [b, site, 32], r = arange(32)

    bitlattice: int32 words [temperature, replica, colour, row, word]. Bit k of word j of a row
        is the site x = 2 (32 j + k) + (colour + parity) % 2, where parity is that of the sum of the
        row's other coordinates, and row = y + Ly (z + ..). Bits beyond the end of a row are 0.

    The array keeps its simulation alive. Its memory stays the same: after a call that advances the
    simulation, it contains the new spins. Such a call first waits for all work on the device, and
    its own work has ended when it returns, so that no stream needs to be synchronised. Do not write
    into the array: that would change the trajectory.
    """

    def __init__(self, simulation):
        self._core, self.engine = simulation._core, simulation.engine
        super().__init__(simulation, self._core.device_spins,
                         np.uint8 if self.engine == "bytespin" else np.int32)

    @property
    def slots(self) -> np.ndarray:
        """Index of each site on the second axis, uint32 [sites]; multispin engine only."""
        return self._core.device_slots()


class DeviceSums(DeviceArray):
    """The sums of a measurement on a GPU (Simulation.measure_device()): int64 [2, replica], or [2,
    temperature, replica] with several temperatures. Element 0 of the first axis is the bond sums
    (energy = -bond sum / sites; the sum is in units of 2^-20 with a field or couplings other than
    +-1), element 1 the magnetisation sums (magnetisation = sum / sites; Potts: sum / (sites (q -
    1))). They are the same integers as in Simulation.measure(). The next measure_device() waits for
    all work on the device and overwrites the same memory.
    """

    def __init__(self, simulation):
        super().__init__(simulation, simulation._core.device_sums, np.int64)
