//! The catalogue of reasons (UX contract C3): stable codes, each with the class that says what helps.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of help a reason calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Class {
    /// Nothing is wrong.
    Fine,
    /// Another thing must happen first; it will be noticed.
    Waiting,
    /// It is tried again by itself.
    Retrying,
    /// A person must decide or supply something.
    NeedsInput,
    /// Only a change of the spec helps.
    Permanent,
}

macro_rules! catalogue {
    ($($(#[doc = $doc:literal])* $name:ident: $class:ident, $fix:expr;)*) => {
        /// A stable code for why an object stands as it does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Reason { $($(#[doc = $doc])* $name,)* }

        impl Reason {
            /// Every reason there is, for tests and documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as it is written, in CamelCase.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// What it means, in a sentence or two.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii(),)* }
            }

            /// What kind of help it calls for.
            pub fn class(self) -> Class {
                match self { $(Self::$name => Class::$class,)* }
            }

            /// What a person can do about it; empty where nothing is needed.
            pub fn fix(self) -> &'static str {
                match self { $(Self::$name => $fix,)* }
            }
        }
    };
}

catalogue! {
    /// What is wanted is there.
    InSync: Fine, "";
    /// Every service is up and healthy.
    AllServicesHealthy: Fine, "";
    /// It is stopped because that is wanted.
    StoppedAsWanted: Fine, "";
    /// A job has done its work.
    Completed: Fine, "";
    /// Steps are being carried out.
    Applying: Waiting, "";
    /// An image is being pulled.
    Pulling: Waiting, "";
    /// It is up and its health check has not passed yet.
    Starting: Waiting, "";
    /// Something it depends on is not there yet.
    DependencyNotReady: Waiting, "Look at what it waits for";
    /// All install slots are taken by other installs.
    WaitingForInstallSlot: Waiting, "";
    /// It is being taken down.
    Removing: Waiting, "";
    /// A step failed and is tried again.
    StepFailed: Retrying, "Read the message; it is tried again by itself";
    /// A step ran and its effect is not there.
    EffectMissing: Retrying, "Read the message; it is tried again by itself";
    /// A slow step made no progress for too long and was given up.
    Stalled: Retrying, "Check the network, then wait for the next try";
    /// The backend could not be read, so nothing is known and nothing is done.
    CannotSee: Retrying, "Check that the backend named in the message is running";
    /// The image could not be pulled.
    PullFailed: Retrying, "Check the image's name and the network";
    /// The health check fails.
    Unhealthy: Retrying, "Read the logs of the service";
    /// It did not become healthy within its deadline.
    HealthDeadlineExceeded: Retrying, "Read the logs of the service, or raise healthDeadlineSeconds";
    /// A job ended with an exit code other than 0.
    JobFailed: Permanent, "Read the logs of the job, then change the app";
    /// A service exits again and again; Docker restarts it.
    Restarting: Retrying, "Read the logs of the service";
    /// A service died more than five times within a minute, and has not run for long since; Docker restarts it.
    CrashLooping: Retrying, "Read the last lines it wrote, then change what makes it end";
    /// It differs from what is wanted, and the policy is to report.
    Drifted: NeedsInput, "Put it back with `hearth drift put-back KIND/NAME`, or keep what is there with `hearth drift keep KIND/NAME`";
    /// Two writers fight over the same fields.
    Contested: NeedsInput, "Find what else changes these fields, or pause the object with `hearth pause KIND/NAME`";
    /// A person has paused it.
    Paused: NeedsInput, "To go on before that, `hearth resume KIND/NAME`, or `hearth resume --all` where everything is paused";
    /// The store is an older copy, or of another home: nothing is changed until a person says go.
    ObserveOnly: NeedsInput, "Look at what differs with `hearth recover status`, then say go with `hearth recover accept`";
    /// A thing of that name exists and is not ours.
    NotOurs: NeedsInput, "Rename one of the two, or move the other away; keep whatever holds data; what is yours you take over with `hearth recover status`";
    /// The data's marker is missing: the disk or the data is gone.
    MarkerMissing: NeedsInput, "Bring the disk or the data back; `hearth recover status` says how it is taken up";
    /// A path leads outside its place, through a link or otherwise.
    UnsafePath: NeedsInput, "Remove the link and put a plain folder in its place";
    /// A dangerous step was interrupted.
    Interrupted: NeedsInput, "Check what is there, then say go";
    /// A name, address or share that it wants belongs to another object.
    Taken: NeedsInput, "Choose another name";
    /// A secret it refers to does not exist or lacks the key.
    SecretMissing: NeedsInput, "Create the secret named in the message";
    /// The spec asks for something that is refused.
    Refused: Permanent, "Change the field named in the message";
    /// The image is not on this machine and may not be pulled.
    ImageMissing: NeedsInput, "Load the image, or set spec.pull to IfAbsent";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
