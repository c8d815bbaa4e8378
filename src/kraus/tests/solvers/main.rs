//! Every solver: what it finds, how it ends, and that threads change no bit.

mod adam;
mod exact;
mod general_and_blocks;
mod keras;
mod moments;
mod oracle;
mod threads;
