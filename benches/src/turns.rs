//! Measuring in turn, and what the middle of it is: the part that makes figures of a busy machine mean something.

/// Something and its floor, measured in turn.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    /// The median.
    pub(crate) measured: f64,
    /// The median.
    pub(crate) floor: f64,
    /// The median of the ratios, each of two that were measured one after the other.
    pub(crate) ratio: f64,
}

impl Pair {
    /// Of as many of one as of the other.
    pub(crate) fn of(measured: &[f64], floor: &[f64]) -> Pair {
        Pair {
            measured: median(measured.to_vec()),
            floor: median(floor.to_vec()),
            ratio: median(measured.iter().zip(floor).map(|(one, floor)| one / floor).collect()),
        }
    }

    /// Of two that were measured once.
    pub(crate) fn once(measured: f64, floor: f64) -> Pair {
        Pair::of(&[measured], &[floor])
    }

    /// Both for each of so many.
    pub(crate) fn each(self, count: u32) -> Pair {
        let count = f64::from(count);
        Pair { measured: self.measured / count, floor: self.floor / count, ratio: self.ratio }
    }
}

/// Does each thing so often, one after the other; every second time backwards, so that no place in the order is better.
pub(crate) fn take_turns<T>(rounds: usize, things: &[&dyn Fn() -> T]) -> Vec<Vec<T>> {
    let mut taken: Vec<Vec<T>> = things.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..things.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        order.into_iter().for_each(|at| taken[at].push(things[at]()));
    }
    taken
}

/// The middle one, or the mean of the two in the middle. Not a number if one of them is not.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Pair, median, take_turns};

    #[test]
    fn the_middle() {
        let check =
            |values: &[f64], expected: f64| assert_eq!(median(values.to_vec()).to_bits(), expected.to_bits());
        check(&[3.0], 3.0);
        check(&[9.0, 1.0, 2.0], 2.0);
        check(&[4.0, 1.0, 2.0, 9.0], 3.0);
        assert!(median(vec![1.0, f64::NAN, 2.0]).is_nan(), "a failure is never left out");
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_ratio_is_of_neighbours() {
        // the machine was ten times as slow in the second round
        let pair = Pair::of(&[2.0, 20.0, 2.2], &[1.0, 10.0, 1.0]);
        assert_eq!((pair.measured, pair.floor, pair.ratio), (2.2, 1.0, 2.0));
        assert_eq!(pair.each(2).measured, 1.1);
    }

    #[test]
    fn every_second_round_goes_backwards() {
        let order = RefCell::new(String::new());
        let (a, b) = (|| order.borrow_mut().push('a'), || order.borrow_mut().push('b'));
        let taken = take_turns(3, &[&a, &b]);
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(*order.borrow(), "abbaab");
    }
}
