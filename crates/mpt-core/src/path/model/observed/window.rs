//! The least or greatest of the values of late.

/// The extreme of the values of one to two periods: what is older is forgotten. Times are
/// microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    period: i64,
    began: i64,
    present: Option<f64>,
    before: Option<f64>,
    sign: f64,
}

impl Recent {
    /// The least values.
    pub(crate) const fn least(period: i64) -> Self {
        Self { period, began: 0, present: None, before: None, sign: 1.0 }
    }

    /// The greatest values.
    pub(crate) const fn greatest(period: i64) -> Self {
        Self { period, began: 0, present: None, before: None, sign: -1.0 }
    }

    /// Another value.
    pub(crate) fn record(&mut self, now: i64, value: f64) {
        self.advance(now);
        let value = self.sign * value;
        self.present = Some(self.present.map_or(value, |present| present.min(value)));
    }

    /// Forgets what is too old; without values since, what was last known stays.
    fn advance(&mut self, now: i64) {
        if now - self.began >= self.period && self.present.is_some() {
            self.before = self.present.take();
            self.began = now;
        }
    }

    /// The extreme value; `None` without values.
    pub(crate) fn value(&self) -> Option<f64> {
        let values = [self.present, self.before];
        values.into_iter().flatten().reduce(f64::min).map(|value| self.sign * value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_for_one_to_two_periods() {
        let mut least = Recent::least(10);
        assert_eq!(least.value(), None);
        least.record(0, 3.0);
        least.record(5, 7.0);
        assert_eq!(least.value(), Some(3.0));
        least.record(12, 8.0);
        assert_eq!(least.value(), Some(3.0));
        least.record(23, 9.0);
        assert_eq!(least.value(), Some(8.0));
        let mut greatest = Recent::greatest(10);
        greatest.record(0, 3.0);
        greatest.record(1, 7.0);
        assert_eq!(greatest.value(), Some(7.0));
    }
}
