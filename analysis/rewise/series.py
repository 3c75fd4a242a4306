"""Autocorrelation of the series of a task, for plots. The program computes tau_int in C++.

U. Wolff, Comput. Phys. Commun. 156, 143 (2004): tau_int = 1/2 + sum of rho(t) up to a window that
is chosen from the data; 1/2 for white noise. The unit of time is one measurement.
"""

import numpy as np

from .errors import UsageError


def _checked(series):
    series = np.asarray(series)
    if series.ndim != 2 or series.size == 0:
        raise UsageError(f"series: shape {series.shape} (expected: [time, replica])")
    return series


def autocorrelation(series):
    """rho(t), t = 0 .. time - 1, of series [time, replica]: averaged over replicas, with the mean
    of all replicas subtracted. O(time log time), by FFT. None if the series is constant."""
    series = _checked(series)
    times, replicas = series.shape
    centred = series - series.mean()
    size = 1 << (2 * times - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    sums = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:times].sum(axis=1)
    gamma = sums / (replicas * (times - np.arange(times)))
    return gamma / gamma[0] if gamma[0] > 0 else None


def tau_int(series, s=1.5):
    """(tau, error of tau, window) with the automatic window, eqs. (41), (42), (50)-(52)."""
    times, replicas = _checked(series).shape
    rho = autocorrelation(series)
    if rho is None:
        return 0.5, 0.0, 0
    total = times * replicas
    partial = 0.5 + np.cumsum(rho[1:])
    window = len(partial)
    for w, tau in enumerate(partial[: times // 2], 1):
        decay = s / np.log((2 * tau + 1) / (2 * tau - 1)) if tau > 0.5 else 1e-12
        if np.exp(-w / decay) - decay / np.sqrt(w * total) < 0:
            window = w
            break
    tau = partial[window - 1] * (1 + (2 * window + 1) / total)
    return tau, tau * np.sqrt(4 * max(window + 0.5 - tau, 0.5) / total), window


def mean_and_error(series):
    """Mean of series [time, replica] and its error: from the spread of the replicas' means, or from
    tau_int if there is one replica."""
    series = _checked(series)
    means = series.mean(axis=0)
    if len(means) > 1:
        return means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    tau, _, _ = tau_int(series)
    return means[0], series.std(ddof=1) * np.sqrt(2 * tau / len(series))


FEW_REPLICAS = 16  # with fewer, each series is cut into blocks of time, as in `rewise run`


def jackknife(series_list, function):
    """(value, error) of `function` of the time averages of several series [time, replica], by the
    jackknife over replicas, or over blocks of time if there are few replicas. The value is
    corrected for bias: C and chi subtract the square of an average and would be too small for short
    series."""
    if callable(series_list) or not callable(function):
        raise TypeError("jackknife: the arguments are a list of series and a function of their "
                        "averages: jackknife([e, e * e], lambda e, e2: e2 - e * e)")
    if len(series_list) == 0:
        raise UsageError("series_list: there are no series")
    times, replicas = _checked(series_list[0]).shape
    cuts = 1 if replicas >= FEW_REPLICAS else min(2 * FEW_REPLICAS // replicas, times)
    length = times // cuts
    means = np.array([series[times - cuts * length:].reshape(cuts, length, replicas).mean(axis=1)
                      .ravel() for series in series_list])
    count = means.shape[1]
    whole = function(*means.mean(axis=1))
    if count < 2:
        return whole, np.nan
    left_out = (means.sum(axis=1, keepdims=True) - means) / (count - 1)
    values = np.array([function(*left_out[:, k]) for k in range(count)])
    error = np.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum())
    return whole - (count - 1) * (values.mean() - whole), error
