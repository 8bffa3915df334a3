"""Names as papers write them, and every objective in one line of formula."""

from __future__ import annotations

from unbraid import objectives
from unbraid.errors import UsageError
from unbraid.metrics import METRICS

__all__ = ["about_objective", "about_score", "formula", "objective_name", "score_name", "short_name"]

_OBJECTIVES = {
    "ae": "Autoencoder",
    "vae": "VAE",
    "beta-vae": "β-VAE",
    "full-beta-vae": "β-VAE with full covariance",
    "linear-vae": "Linear VAE",
    "annealed-vae": "AnnealedVAE",
    "factor-vae": "FactorVAE",
    "beta-tcvae": "β-TCVAE",
    "dip-vae-i": "DIP-VAE-I",
    "dip-vae-ii": "DIP-VAE-II",
    "s2-beta-vae": "S2-β-VAE",
    "beta-tcvae-sampled": "β-TCVAE (sampled)",
    "s2-beta-tcvae": "S2-β-TCVAE",
    "slow-vae": "SlowVAE",
    "gaussian-slow-vae": "SlowVAE with normal steps",
    "pm-vae": "PM-VAE",
    "ada-gvae": "Ada-GVAE",
    "ada-ml-vae": "Ada-ML-VAE",
    "pcl": "PCL",
    "slow-flow": "SlowFlow",
}

_ELBO = "E[−log p(x|z)]"
_KL = "KL(q(z|x) ‖ p(z))"
_SLOW = f"{_ELBO} + {{beta}} · {_KL} + {{gamma}} · KL(q(zₜ|xₜ) ‖ p), p ∝ exp(−{{rate}} |zₜ − zₜ₋₁|^{{alpha}})"
_FORMULAS = {
    "ae": "−log p(x|z), z = f(x)",
    "vae": f"{_ELBO} + {_KL}",
    "beta-vae": f"{_ELBO} + {{beta}} · {_KL}",
    "full-beta-vae": f"{_ELBO} + {{beta}} · {_KL}, q with full covariance",
    "linear-vae": f"{_ELBO} + {{beta}} · {_KL}, encoder and decoder affine",
    "annealed-vae": f"{_ELBO} + {{gamma}} · |{_KL} − C(t)|, C(t) rising to {{c_max}} nats",
    "factor-vae": f"{_ELBO} + {_KL} + {{gamma}} · TC(z), TC by a discriminator",
    "beta-tcvae": f"{_ELBO} + {_KL} + ({{beta}} − 1) · TC(z), TC estimated from the batch",
    "dip-vae-i": f"{_ELBO} + {_KL} + {{lambda_od}} · (Σ off² + {{lambda_d_factor}} · Σ (diag − 1)²) of Cov[μ(x)]",
    "dip-vae-ii": f"{_ELBO} + {_KL} + {{lambda_od}} · (Σ off² + {{lambda_d_factor}} · Σ (diag − 1)²) of Cov[z]",
    "s2-beta-vae": f"{_ELBO} + {{beta}} · {_KL} + {{gamma_sup}} · loss of {{labels}} labelled images",
    "beta-tcvae-sampled": f"{_ELBO} + I(x; z) + {{beta}} · TC(z) + Σ KL(q(z_j) ‖ p(z_j)), all from one sample each",
    "s2-beta-tcvae": f"{_ELBO} + {_KL} + ({{beta}} − 1) · TC(z) + {{gamma_sup}} · loss of {{labels}} labelled images",
    "slow-vae": _SLOW,
    "gaussian-slow-vae": _SLOW,
    "pm-vae": f"{_ELBO} + {{beta}} · {_KL} + {{gamma}} · KL between the posteriors of both images, averaged both ways",
    "ada-gvae": f"{_ELBO} + {{beta}} · {_KL}, posteriors averaged in the latents a pair shares",
    "ada-ml-vae": f"{_ELBO} + {{beta}} · {_KL}, posteriors multiplied in the latents a pair shares",
    "pcl": "cross-entropy of true against shuffled pairs, compared feature by feature",
    "slow-flow": "−log N(z₀; 0, I) − log p(z₁ − ar · z₀) − log |det ∂f/∂x| at both images",
}

_SCORES = {
    "beta_vae": "BetaVAE score",
    "factor_vae": "FactorVAE score",
    "mig": "MIG",
    "dci": "DCI disentanglement",
    "dci_disentanglement": "DCI disentanglement",
    "dci_completeness": "DCI completeness",
    "dci_informativeness_test": "DCI informativeness",
    "sap": "SAP",
    "modularity": "Modularity",
    "explicitness": "Explicitness",
    "irs": "IRS",
    "mcc": "MCC",
    "disentanglement_score": "DS (nearest neighbours)",
    "infomec": "InfoMEC modularity",
    "infomec_infoc": "InfoMEC compactness",
    "infomec_infoe": "InfoMEC explicitness",
    "dci_es": "DCI-ES explicitness",
    "mig_sup": "MIG-sup",
    "jemmig": "JEMMIG",
    "dcimig": "DCIMIG",
    "r2": "R²",
    "gaussian_total_correlation": "Total correlation",
    "wasserstein_correlation": "Wasserstein correlation",
    "pairwise_mutual_information": "Pairwise information",
    "downstream": "Downstream accuracy",
    "udr": "UDR",
    "reconstruction": "Reconstruction",
    "kl": "KL",
    "elbo": "ELBO",
    "loss": "Loss",
    "penalty": "Penalty",
    "regularizer": "Regulariser",
    "lr_efficiency": "LR efficiency",
    "gbt_efficiency": "GBT efficiency",
}


_SHORT = {"beta_vae": "BetaVAE", "factor_vae": "FactorVAE", "dci_disentanglement": "DCI", "dci": "DCI"}


def objective_name(name: str) -> str:
    """An objective as papers write it; own ones keep their name."""
    return _OBJECTIVES.get(name, name)


def score_name(name: str) -> str:
    """A score, loss or downstream task for a heading.

    >>> score_name("mig"), score_name("gbt_1000"), score_name("my_term")
    ('MIG', 'GBT, 1000 labels', 'my_term')
    """
    learner, _, labels = name.partition("_")
    if learner in ("lr", "gbt") and labels.isdigit():
        return f"{learner.upper()}, {labels} labels"
    return _SCORES.get(name, name)


def short_name(name: str) -> str:
    """A score over a narrow column."""
    return _SHORT.get(name, score_name(name))


def about_score(name: str) -> str:
    """What a score asks, in half a sentence."""
    return METRICS[name].about if name in METRICS else ""


def formula(name: str, options: dict[str, object]) -> str:
    """What is minimised, with this run's numbers put in; empty for an objective of one's own.

    >>> formula("beta-vae", {"beta": 4.0})
    'E[−log p(x|z)] + 4 · KL(q(z|x) ‖ p(z))'
    """
    shown = {key: f"{value:g}" if isinstance(value, float) else str(value) for key, value in options.items()}
    try:
        return _FORMULAS.get(name, "").format(**shown)
    except KeyError:  # a record from a version with other options
        return ""


def about_objective(name: str) -> str:
    """The first sentence of its documentation."""
    try:
        doc = objectives.get(name).__doc__ or ""
    except UsageError:
        return ""
    return doc.strip().split("\n\n")[0].replace("\n", " ").strip()
