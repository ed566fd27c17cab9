import math

import pytest
import torch
from normalign_training.head_gates import HIGH, LOW, TEMPERATURE, HeadGates


def gates_at(*log_odds: float, speed: float = 1.0) -> HeadGates:
    gates = HeadGates(len(log_odds), speed=speed)
    gates.location.data = torch.tensor(log_odds) / speed
    return gates


def test_chances_are_what_sampling_shows():
    torch.manual_seed(1)
    gates = gates_at(-3.0, -0.5, 0.0, 1.0, 4.0)
    drawn = torch.stack([gates.sample() for _ in range(20000)])
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert torch.allclose((drawn == 0).float().mean(0), gates.chance_of_zero(), atol=0.012)
    assert torch.allclose((drawn == 1).float().mean(0), gates.chance_of_one(), atol=0.012)
    assert float(gates.penalty()) == pytest.approx(float((drawn != 0).float().mean(0).sum()), abs=0.03)


def test_chance_of_zero_by_its_formula():
    expected = 1 / (1 + math.exp(-(TEMPERATURE * math.log(-LOW / HIGH) - 0.7)))
    assert float(gates_at(0.7).chance_of_zero()) == pytest.approx(expected)


def test_at_test_time_a_head_is_off_where_its_gate_is_closed():
    gates = gates_at(-0.1, 0.0, 0.1, -5.0).eval()
    assert gates().tolist() == [0, 1, 1, 0]
    values = torch.ones(2, 3, 8)
    assert gates.on_values(torch.nn.Identity(), (), values)[0, 0].tolist() == [0, 0, 1, 1, 1, 1, 0, 0]


def test_speed_scales_the_gradient_not_the_gates():
    slow, fast = gates_at(1.0), gates_at(1.0, speed=10)
    assert float(slow.penalty()) == pytest.approx(float(fast.penalty()))
    for gates in (slow, fast):
        gates.penalty().backward()
    assert float(fast.location.grad) == pytest.approx(10 * float(slow.location.grad))
    assert float(slow.location.grad) > 0
    with pytest.raises(ValueError):
        HeadGates(1, speed=0)
