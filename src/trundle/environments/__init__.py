"""Models and scenarios as Gymnasium environments: what the extra `learn` brings.

`problem` says what an environment is (model, starts, inputs, cost), `scenario` takes one from a scenario whose policy
`trundle.simulate` calls, `env` steps many of them at once with `trundle.simulate_many`.
"""

from trundle.arguments import guard
from trundle.environments.env import RollingEnv, RollingVectorEnv
from trundle.environments.problem import EnvironmentProblem
from trundle.environments.scenario import problem_of, register

__all__ = ["EnvironmentProblem", "RollingEnv", "RollingVectorEnv", "problem_of", "register"]

register()
guard(__name__)
