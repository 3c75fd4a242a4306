"""Autocorrelation of a task's series, for plots; `rewise` itself computes tau_int in C++.

U. Wolff, Comput. Phys. Commun. 156, 143 (2004): tau_int = 1/2 + sum of rho(t) up to a window chosen
from the data; 1/2 for white noise. Times are measurements apart.
"""

import numpy as np


def autocorrelation(series):
    """rho(t), t = 0 .. time - 1, of series [time, replica], averaged over replicas around the
    common mean. O(time log time) by fast Fourier transform. None where nothing varies."""
    times, replicas = series.shape
    centred = series - series.mean()
    size = 1 << (2 * times - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    sums = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:times].sum(axis=1)
    gamma = sums / (replicas * (times - np.arange(times)))
    return gamma / gamma[0] if gamma[0] > 0 else None


def tau_int(series, s=1.5):
    """(tau, its error, window) by the automatic window, eqs. (41), (42), (50)-(52)."""
    times, replicas = series.shape
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
    """Of series [time, replica]: the mean, and the spread of the replicas' means; with one replica
    the error from tau_int."""
    means = series.mean(axis=0)
    if len(means) > 1:
        return means.mean(), means.std(ddof=1) / np.sqrt(len(means))
    tau, _, _ = tau_int(series)
    return means[0], series.std(ddof=1) * np.sqrt(2 * tau / len(series))


def jackknife(series_list, function):
    """`function` of the time averages of several series [time, replica], jackknifed over replicas:
    (value, error)."""
    means = np.array([series.mean(axis=0) for series in series_list])
    replicas = means.shape[1]
    whole = function(*means.mean(axis=1))
    if replicas < 2:
        return whole, np.nan
    left_out = (means.sum(axis=1, keepdims=True) - means) / (replicas - 1)
    values = np.array([function(*left_out[:, r]) for r in range(replicas)])
    return whole, np.sqrt((replicas - 1) / replicas * ((values - values.mean()) ** 2).sum())
