"""Rollouts in the environments of gym_worlds by a small learner, and the policy that it has learned."""

from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.recurrent.gym import RecurrentGymGames, RecurrentGymPPO
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.making import described
from dshq_widget.policy.gym_policy import gym_policy
from dshq_widget.policy.network import PolicySpec

WORLDS = "gym:tests.harness.games.gym_worlds:"
QUICK = {"num_envs": 16, "rollout_length": 16, "epochs": 4, "minibatch_size": 64, "hidden_sizes": (16,)}
PLAIN = {"normalize_observations": False, "normalize_rewards": False}


def played(name: str, **given) -> tuple[GymGames, GymPPO, TrainConfig]:
    environment = described(name)
    config = TrainConfig.from_values({**environment.spec.training, **QUICK, **given})
    spec = PolicySpec.for_config(environment.spec, config)
    games, learner = (RecurrentGymGames, RecurrentGymPPO) if config.memory else (GymGames, GymPPO)
    normalizer = Normalizer(spec, config.normalize_observations, config.normalize_rewards)
    made = learner(spec, environment.actions, "gaussian", seed=0, normalizer=normalizer)
    return games(environment, config), made, config


def policy_of(games: GymGames, learner: GymPPO):
    made = games.environment.spec.environment_json | {"made": {}}
    return gym_policy(learner.spec.layers, learner.spec.activation, learner.blob(), made, "gaussian")
