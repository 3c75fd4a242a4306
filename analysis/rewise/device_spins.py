"""The spins of a simulation, and sums over them, where they lie on a GPU, for CuPy, PyTorch and
others, without copies.

    sim = rewise.Simulation(g, 2.4, device="cuda", engine="bytespin", replicas=4)
    s = cupy.asarray(sim.spins_device)              # or torch.as_tensor(.., device="cuda"),
    for step in sim.iterate(1000, every=10):        # cupy.from_dlpack(..), torch.from_dlpack(..)
        mine.append(float(my_observable(s)))
"""

import numpy as np


class DeviceArray:
    """An array on a GPU, by `__cuda_array_interface__` (version 3) and DLPack. It holds its
    simulation, and is there to be read.
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
        """A capsule for one reader; steps have ended when they return, so no `stream` waits."""
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"{type(self).__name__} is read where it lies; copy what was read")
        return self._place(self._scalar)[0]

    def __dlpack_device__(self):
        return 2, int(self.device.split(":")[1])  # kDLCUDA

    def __repr__(self):
        return f"<rewise.{type(self).__name__}: {self.dtype} {list(self.shape)} on {self.device}>"


class DeviceSpins(DeviceArray):
    """The spins on a GPU, an array by `__cuda_array_interface__` (version 3) and DLPack; made by
    Simulation.spins_device. By the simulation's engine it is

    bytespin: uint8 [temperature, replica, *extents reversed], x last
        ([.., sites] without a lattice):
        Ising 0 (down) or 1 (up), Potts 0..q - 1. Without the first axis where the simulation has
        one temperature, given as a number: then it is what Simulation.spins copies.
    multispin: int32 words [b // V, slot, b % V], V from 1 to 8. Bit r of a word is replica
        32 b + r, b the word group, counted through all temperatures; `slots` [sites] are the sites'
        places on the second axis, which holds other words, too. For V = 1

            up = (words[:, spins.slots, 0, None] >> r) & 1  # [b, site, 32], r = arange(32)

    bitlattice: int32 words [temperature, replica, colour, row, word]. Bit k of word j of a row
        is the
        site x = 2 (32 j + k) + (colour + parity) % 2, where parity is that of the sum of the row's
        other coordinates, and row = y + Ly (z + ..); bits beyond the row's end are 0.

    The array holds its simulation, and the same memory is used from step to step: it is valid as it
    is until the next call that advances the simulation, and shows the new spins after it. Such a
    call waits for what is under way on the device, and has ended its own work when it returns: no
    stream needs waiting for. It is there to be read: what is written into it is how the simulation
    goes on, with another trajectory.
    """

    def __init__(self, simulation):
        self._core, self.engine = simulation._core, simulation.engine
        super().__init__(simulation, self._core.device_spins,
                         np.uint8 if self.engine == "bytespin" else np.int32)

    @property
    def slots(self) -> np.ndarray:
        """uint32 [sites], multispin engine."""
        return self._core.device_slots()


class DeviceSums(DeviceArray):
    """The sums of a measurement on a GPU, an array as DeviceSpins is; made by
    Simulation.measure_device(): int64 [2, replica], or [2, temperature, replica] where there are
    several temperatures. The first half are the bond sums (energy = -bond sum / sites), the second
    the magnetisation sums (magnetisation = sum / sites, Potts / (sites (q - 1))), the very integers
    of Simulation.measure(). The place stays the same: the next measure_device() waits for what is
    under way on the device and writes there.
    """

    def __init__(self, simulation):
        super().__init__(simulation, simulation._core.device_sums, np.int64)
