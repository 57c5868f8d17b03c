//! `foretell fleet cancel`: no more jobs of a campaign.

use clap::Args;
use foretell::diagnostics::Diagnostic;
use foretell::exit::Exit;
use foretell::output;
use foretell::table::counted;

use crate::campaign::Announcement;
use crate::connection::Connection;
use crate::fleet::{Fleet, Outgoing, failed};
use crate::streams::{CALLED_OFF, CAMPAIGNS, JOBS, subject};

/// Cancel a campaign: drop queued jobs, stop running ones, keep the findings.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    connection: Connection,
    /// The campaign.
    #[arg(value_name = "CAMPAIGN")]
    campaign: String,
}

impl Cancel {
    /// Empties the queue, and tells the workers.
    pub(crate) async fn run(self) -> Result<Exit, Diagnostic> {
        let fleet = Fleet::connect(&self.connection).await?;
        let announced = fleet.announced(Some(&self.campaign)).await?;
        let id = announced.id.clone();
        let cancelled = Announcement { cancelled: true, ..announced };
        let message = Outgoing::new(subject(CAMPAIGNS, &[&id]), format!("{id}.cancelled"), &cancelled)?;
        fleet.publish(message).await?;
        fleet.client.publish(CALLED_OFF, id.clone().into()).await.map_err(failed)?;
        let jobs = fleet.stream(JOBS).await?;
        let purged = jobs.purge().filter(subject(JOBS, &[&id, ">"])).await.map_err(failed)?;
        fleet.client.flush().await.map_err(failed)?;
        output::print(&format!("{id}: {} dropped\n", counted(purged.purged, "job")))?;
        Ok(Exit::Nothing)
    }
}
