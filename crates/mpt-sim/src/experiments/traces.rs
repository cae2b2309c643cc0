//! Figures 6 to 9: congestion windows over time.

use crate::report::{Figure, Report, Series, Style};
use crate::study::{Case, Profile, control_name, in_parallel, treatment_name};
use crate::transport::congestion::Control;
use crate::transport::tcp::Treatment;

use super::{Experiment, Setting};

/// Seconds between two points: more points could not be told apart.
const STEP: f64 = 1.0;

pub(super) fn dsack(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Treatment::DSack, [Control::Reno, Control::Lia])
}

pub(super) fn eifel(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Treatment::Eifel, [Control::Reno, Control::FullyCoupled])
}

pub(super) fn door(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Treatment::TcpDoor, [Control::Reno, Control::Lia])
}

pub(super) fn frto(experiment: &Experiment, setting: &Setting<'_>) -> Report {
    run(experiment, setting, Treatment::FRto, [Control::FullyCoupled, Control::Lia])
}

/// Runs each case with the first seed: a trace is one run.
fn run(
    experiment: &Experiment,
    setting: &Setting<'_>,
    treatment: Treatment,
    controls: [Control; 2],
) -> Report {
    let cases: Vec<Case> = [Profile::Ns3, Profile::Rfc]
        .into_iter()
        .flat_map(|profile| controls.map(|control| Case::study(profile, treatment, control, 0)))
        .collect();
    (setting.expect)(cases.len() as u64);
    let traces = in_parallel(&cases, windows, setting.progress);
    let mut report = experiment.report(setting);
    report.seeds = 1;
    for (case, trace) in cases.iter().zip(traces) {
        let (profile, control) = (case.profile.name(), control_name(case.control));
        report.figures.push(Figure {
            name: format!("{}-{profile}-{control}", experiment.name),
            title: format!(
                "{profile}: congestion windows, {} {control}",
                treatment_name(treatment)
            ),
            x: "seconds".to_owned(),
            y: "packets".to_owned(),
            series: (0..)
                .zip(trace)
                .map(|(path, points): (usize, _)| Series { name: format!("SF-{path}"), points })
                .collect(),
            style: Style::Lines,
            groups: Vec::new(),
        });
    }
    report
}

/// Returns the window of each subflow over time.
fn windows(case: &Case) -> [Vec<(f64, f64)>; 2] {
    let mut trace = [Vec::new(), Vec::new()];
    let mut next = 0.0;
    let mut record = |seconds: f64, windows: [f64; 2]| {
        if seconds >= next {
            next = (libm::floor(seconds / STEP) + 1.0) * STEP;
            for (points, window) in trace.iter_mut().zip(windows) {
                points.push((seconds, window));
            }
        }
    };
    match case.reproduction() {
        Some(run) if case.profile == Profile::Ns3 => {
            run.run_with(|now, sender| {
                record(now.as_secs_f64(), [sender.window(0), sender.window(1)]);
            });
        }
        _ => {
            case.standard().run_with(|now, sender| {
                let window = |path: usize| sender.subflows()[path].window();
                record(now.as_secs_f64(), [window(0), window(1)]);
            });
        }
    }
    trace
}
