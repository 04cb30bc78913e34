//! Where settings are found: the user's, and those of the project.
//!
//! [`find`] walks up from a folder to the first `.lockgate/` or `lockgate.toml`.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use lockgate::engine::{PolicyError, read_sources};

use super::{
    error::SettingsError,
    file::File,
    join::{Level, Values, join},
    starter::STARTER,
    values::{Elsewhere, Origin, Registry, Settings, TeamServerSettings},
    view::{FolderView, ProjectView, repository_with_policy},
};
use crate::{
    approvals::Approvals,
    coding_agent::CALL_LIMIT,
    edit::Scope,
    environment::Environment,
    files::is_there,
    trust::{self, Trust},
};

/// The folder of a project's policy.
pub const FOLDER: &str = ".lockgate";
/// The file of settings.
pub const FILE: &str = "lockgate.toml";
/// A hook process has to answer well before its agent stops waiting, because some agents then run the tool.
const DEADLINE_MAX: Duration = Duration::from_secs(CALL_LIMIT.as_secs() / 10 * 6);
const DEADLINE_MIN: Duration = Duration::from_millis(100);
const FORGET_AFTER_MIN: Duration = Duration::from_secs(60 * 60);

/// Why a folder cannot be looked at for the guardian.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// Its settings cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Its policy cannot be read.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// The settings that count for a folder.
pub fn find(folder: &Path, environment: &Environment) -> Result<Settings, SettingsError> {
    if let Some(views) = environment.views_folder() {
        // The guardian opens no file that an agent's user has named: it knows what its clients saw there.
        return find_in(&FolderView::kept(&views, folder)?, environment);
    }
    let folder = real(folder)?;
    let user_folder = user_folder(environment);
    let user = match &user_folder {
        Some(folder) => of_user(folder, environment)?,
        None => None,
    };
    let project = project_above(&folder, user_folder.as_deref(), environment)?.map(|(level, _)| level);
    let is_repository = |folder: &&Path| folder.join(".git").exists();
    let repository = || folder.ancestors().find(is_repository).unwrap_or(&folder);
    outside_of(project.as_ref().map_or_else(repository, |project| &project.folder), environment)?;
    let trust = match &project {
        Some(project) => {
            let named = project.named();
            let approvals = user.as_ref().and_then(|user| user.values.approvals).unwrap_or_default();
            let is_protected = approvals == Approvals::Protected;
            trust::look(environment, &project.folder, named.as_deref(), is_protected)
        }
        None => Trust::Never,
    };
    join(user, project, trust, || state_of_user(environment))
}

/// The settings that count for a folder that another process has looked at: the guardian's own and the project's, joined. No
/// file of the project is read, and no program of a condition is run, because it would run with the guardian's rights.
///
/// # Errors
/// When the settings of either cannot be used.
pub fn find_in(view: &FolderView, environment: &Environment) -> Result<Settings, SettingsError> {
    let user = match user_folder(environment) {
        Some(folder) => of_user(&folder, environment)?,
        None => None,
    };
    let project = view.project.as_ref().map(|project| of_view(project, environment)).transpose()?;
    let trust = match &view.project {
        Some(project) => trust::compare(environment, &project.root, &project.hashes()),
        None => Trust::Never,
    };
    let mut settings = join(user, project, trust, || state_of_user(environment))?;
    settings.exec = false;
    if let (Some(joined), Some(seen)) = (&mut settings.project, &view.project) {
        joined.texts = Some(seen.sources());
        joined.settings_text = seen.settings.as_ref().map(|(_, text)| text.clone());
    }
    settings.elsewhere = Some(Elsewhere { repository: view.repository.clone() });
    Ok(settings)
}

/// Looks at a folder for the guardian.
///
/// # Errors
/// When the policy that is found cannot be read, or must not be used.
pub fn look(folder: &Path, environment: &Environment) -> Result<FolderView, LookError> {
    let real = real(folder)?;
    let found = project_above(&real, user_folder(environment).as_deref(), environment)?;
    let root = found.as_ref().map_or(folder, |(level, _)| level.folder.as_path());
    let repository = repository_with_policy(root);
    let project = found.map(|(level, file)| {
        let texts = read_sources(&level.files)?;
        let texts = texts.iter().map(|source| (source.name().to_owned(), source.text().to_owned()));
        let settings = level.settings.map(|path| (path, file.text().to_owned()));
        Ok::<_, LookError>(ProjectView {
            root: level.folder,
            settings,
            files: level.files,
            texts: texts.collect(),
        })
    });
    Ok(FolderView { folder: folder.to_path_buf(), repository, project: project.transpose()? })
}

/// Looks at policy files that a program names, for the guardian: they count in the place of the nearest project's. They have a
/// place of their own, so that what hooks remember of the folder stays as it is.
///
/// # Errors
/// When they cannot be read.
pub fn look_at_files(folder: &Path, files: &[PathBuf]) -> Result<FolderView, LookError> {
    let files: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    let texts = read_sources(&files)?;
    let texts = texts.iter().map(|source| (source.name().to_owned(), source.text().to_owned()));
    let project = files.first().cloned().map(|root| ProjectView {
        root,
        settings: None,
        files,
        texts: texts.collect(),
    });
    Ok(FolderView { folder: folder.to_path_buf(), repository: repository_with_policy(folder), project })
}

fn of_view(view: &ProjectView, environment: &Environment) -> Result<Level, SettingsError> {
    let policies = view.root.join(FOLDER);
    let file = match &view.settings {
        Some((path, text)) => File::parse(path, text.clone())?,
        None => File::empty(&policies),
    };
    let settings = view.settings.as_ref().map(|(path, _)| path.clone());
    let found = Found { is_project: true, folder: view.root.clone(), policies, file: settings.clone() };
    let values = found.values(&file, environment)?;
    // Even a trusted project does not choose where the guardian writes, which programs it runs, and whom it tells.
    let values = Values { state: None, anchor: None, exec: None, server: None, ..values };
    Ok(Level { is_project: true, folder: view.root.clone(), files: view.files.clone(), settings, values })
}

/// The nearest project from a folder upwards, with its file of settings.
fn project_above(
    folder: &Path,
    user_folder: Option<&Path>,
    environment: &Environment,
) -> Result<Option<(Level, File)>, SettingsError> {
    // The user's own folder is not a project, though it has a `lockgate.toml`.
    for folder in folder.ancestors().filter(|folder| user_folder != Some(*folder)) {
        if let Some(found) = of_project(folder, environment)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The folder of the user's own settings.
pub fn user_folder(environment: &Environment) -> Option<PathBuf> {
    let folder = environment.config_folder()?.join("lockgate");
    Some(fs::canonicalize(&folder).unwrap_or(folder))
}

/// A project that could say where the user's folders are would decide for the user: agents set variables that a project's
/// files name. Where the whole home folder lies in the project, these folders do as well.
fn outside_of(project: &Path, environment: &Environment) -> Result<(), SettingsError> {
    let is_inside = |folder: &Path| real(folder).is_ok_and(|folder| folder.starts_with(project));
    if project.parent().is_none() || environment.home.as_deref().is_some_and(is_inside) {
        return Ok(());
    }
    for (variable, folder) in
        [("XDG_CONFIG_HOME", environment.config_folder()), ("XDG_DATA_HOME", environment.data_folder())]
    {
        if let Some(folder) = folder.filter(|folder| is_inside(folder)) {
            let reason = format!("`{variable}` places the user's folder inside this project");
            return Err(SettingsError::new(&folder, reason, "unset the variable, or choose another folder"));
        }
    }
    Ok(())
}

/// Where a first policy belongs; or, where a policy counts already, the folder of that one. With `is_wanted`, only one in
/// the same place counts.
pub fn starter_place(
    scope: Scope,
    is_wanted: bool,
    project: &Path,
    environment: &Environment,
) -> Result<Result<PathBuf, PathBuf>, SettingsError> {
    let of_user = || match user_folder(environment) {
        Some(folder) => {
            Ok((of_user(&folder, environment).map(|level| level.map(|level| level.origin())), folder))
        }
        None => Err(SettingsError::new(Path::new("home folder"), "there is none", "set `HOME`")),
    };
    let (found, folder) = match scope {
        Scope::User => of_user()?,
        Scope::Project if is_wanted => {
            let level = of_project(&real(project)?, environment);
            (level.map(|level| level.map(|(level, _)| level.origin())), project.join(FOLDER))
        }
        Scope::Project => {
            (find(project, environment).map(|settings| Some(settings.origin)), project.join(FOLDER))
        }
    };
    let counts = match found {
        Ok(counts) => counts,
        Err(error) if error.lacks_policy && real(&error.file)? == real(&folder)? => None,
        Err(error) => return Err(error),
    };
    Ok(match counts {
        Some(Origin::Project(folder) | Origin::User(folder)) => Err(folder),
        Some(Origin::BuiltIn) | None => Ok(folder.join(STARTER)),
    })
}

/// A folder without links in its path; the nearest one above it, where it is not there.
fn real(folder: &Path) -> Result<PathBuf, SettingsError> {
    for folder in folder.ancestors().filter(|folder| folder.is_absolute()) {
        match fs::canonicalize(folder) {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(SettingsError::io(folder, &error)),
        }
    }
    Err(SettingsError::new(folder, "it is not an absolute path", "name the folder by its absolute path"))
}

fn of_project(folder: &Path, environment: &Environment) -> Result<Option<(Level, File)>, SettingsError> {
    let policies = folder.join(FOLDER);
    let has_folder = is_there(&policies, environment)?;
    if has_folder && !policies.is_dir() {
        return Err(SettingsError::new(
            &policies,
            "it is not a folder",
            "move it away, and run `lockgate init`",
        ));
    }
    let (inside, beside) = (policies.join(FILE), folder.join(FILE));
    let has_inside = has_folder && is_there(&inside, environment)?;
    let has_beside = is_there(&beside, environment)?;
    let file = match (has_inside, has_beside) {
        (true, true) => {
            let reason = format!("there is `{}` too, and only one can count", inside.display());
            return Err(SettingsError::new(&beside, reason, "keep one of them"));
        }
        (true, false) => Some(inside),
        (false, true) => Some(beside),
        (false, false) if has_folder => None,
        (false, false) => return Ok(None),
    };
    let found = Found { is_project: true, folder: folder.to_path_buf(), policies, file };
    found.level(environment).map(Some)
}

fn of_user(folder: &Path, environment: &Environment) -> Result<Option<Level>, SettingsError> {
    if !is_there(folder, environment)? {
        return Ok(None);
    }
    let file = folder.join(FILE);
    let file = is_there(&file, environment)?.then_some(file);
    let (policies, folder) = (folder.to_path_buf(), folder.to_path_buf());
    let found = Found { is_project: false, folder, policies, file };
    found.level(environment).map(|(level, _)| Some(level))
}

/// Where settings are.
struct Found {
    is_project: bool,
    /// The project, or the user's folder of settings.
    folder: PathBuf,
    /// The folder whose policy files count where nothing else is said.
    policies: PathBuf,
    file: Option<PathBuf>,
}

impl Found {
    fn level(self, environment: &Environment) -> Result<(Level, File), SettingsError> {
        let file = match &self.file {
            Some(file) => File::read(file)?,
            None => File::empty(&self.policies),
        };
        let (values, files) = (self.values(&file, environment)?, self.files(&file, environment)?);
        let Self { is_project, folder, file: settings, .. } = self;
        Ok((Level { files, values, is_project, folder, settings }, file))
    }

    fn values(&self, file: &File, environment: &Environment) -> Result<Values, SettingsError> {
        let (hook, sessions) = (&file.written.hook, &file.written.sessions);
        let deadline = hook.deadline.as_ref();
        let deadline = deadline
            .map(|said| file.duration(said, DEADLINE_MIN..DEADLINE_MAX + Duration::from_nanos(1)))
            .transpose()?;
        let forget_after = match &sessions.forget_after {
            None => None,
            Some(said) if said.get_ref() == "never" => Some(None),
            Some(said) => Some(Some(file.duration(said, FORGET_AFTER_MIN..Duration::MAX)?)),
        };
        Ok(Values {
            mode: file.written.mode,
            state: self.state(file, environment)?,
            anchor: anchor(file)?,
            protect: file.written.protect,
            ask: hook.ask,
            deadline,
            forget_after,
            exec: file.written.exec,
            approvals: file.written.approvals,
            policy_changes: file.written.policy_changes,
            registry: file.written.registry.as_ref().map(|it| Registry {
                names: it.names.clone().into_iter().collect(),
                active: it.active.clone(),
            }),
            server: server(file)?,
        })
    }

    fn files(&self, file: &File, environment: &Environment) -> Result<Vec<PathBuf>, SettingsError> {
        let Some(said) = &file.written.policy else {
            return self.policies_there(environment).map(|policies| Vec::from([policies]));
        };
        if said.get_ref().is_empty() {
            let remedy = "name a policy file, or leave `policy` out";
            return Err(file.wrong(said.span(), "the list `policy` is empty", remedy));
        }
        let folder = file.folder();
        let paths = said.get_ref().iter().map(|path| {
            let whole = folder.join(path.get_ref());
            match fs::metadata(&whole) {
                Ok(_) => Ok(whole),
                Err(error) => {
                    let reason = format!("the policy `{}` cannot be read: {error}", path.get_ref());
                    Err(file.wrong(
                        path.span(),
                        &reason,
                        "correct the path; it starts at the folder of this file",
                    ))
                }
            }
        });
        paths.collect()
    }

    /// The folder of policies, if there is a policy in it.
    fn policies_there(&self, environment: &Environment) -> Result<PathBuf, SettingsError> {
        let endings = ["rules", "yaml", "yml", "json"];
        let mut has_policy = false;
        let entries = match fs::read_dir(&self.policies) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.no_policy()),
            Err(error) => return Err(SettingsError::io(&self.policies, &error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| SettingsError::io(&self.policies, &error))?.path();
            if path.extension().and_then(OsStr::to_str).is_some_and(|ending| endings.contains(&ending)) {
                has_policy |= is_there(&path, environment)?;
            }
        }
        if has_policy { Ok(self.policies.clone()) } else { Err(self.no_policy()) }
    }

    fn no_policy(&self) -> SettingsError {
        let option = if self.is_project { "" } else { " --user" };
        let remedy =
            format!("run `lockgate init{option} --policy-only` for a first one, or take the folder away");
        let error = SettingsError::new(&self.policies, "it holds no policy", remedy);
        SettingsError { lacks_policy: true, ..error }
    }

    fn state(&self, file: &File, environment: &Environment) -> Result<Option<PathBuf>, SettingsError> {
        let Some(said) = &file.written.state else { return Ok(None) };
        match said.get_ref().as_str() {
            "user" => state_of_user(environment).map(Some),
            "project" if self.is_project => Ok(Some(self.folder.join(FOLDER).join("state").join(DATABASE))),
            "project" => {
                let reason = "these settings do not belong to a project";
                Err(file.wrong(said.span(), reason, "write \"user\", or the whole path of a file"))
            }
            path if path.is_empty() || path.ends_with(['/', '\\']) || path.starts_with('~') => {
                let remedy = "write \"user\", \"project\", or the path of a file, without `~`";
                Err(file.wrong(said.span(), &format!("`{path}` does not name a file"), remedy))
            }
            path => Ok(Some(file.folder().join(path))),
        }
    }
}

/// The team server of a file; its paths start at the folder of the file.
fn server(file: &File) -> Result<Option<TeamServerSettings>, SettingsError> {
    let Some(said) = &file.written.server else { return Ok(None) };
    for (name, text) in [("url", &said.url), ("token_file", &said.token_file)] {
        if text.get_ref().is_empty() {
            let reason = format!("`server.{name}` is empty");
            return Err(file.wrong(text.span(), &reason, "name the server and the file of its token"));
        }
    }
    Ok(Some(TeamServerSettings {
        url: said.url.get_ref().clone(),
        token_file: file.folder().join(said.token_file.get_ref()),
        ca: said.ca.as_ref().map(|path| file.folder().join(path)),
        session_prefix: said.session_prefix.clone(),
    }))
}

/// Not a path relative to anything: it lies outside of what it vouches for.
fn anchor(file: &File) -> Result<Option<PathBuf>, SettingsError> {
    let Some(said) = &file.written.anchor else { return Ok(None) };
    let path = Path::new(said.get_ref());
    if !path.is_absolute() || said.get_ref().ends_with('/') {
        let reason = format!("`{}` is not the absolute path of a file", path.display());
        return Err(file.wrong(said.span(), &reason, "write one, as in \"/var/lib/lockgate/anchor\""));
    }
    Ok(Some(path.to_path_buf()))
}

const DATABASE: &str = "lockgate.db";

fn state_of_user(environment: &Environment) -> Result<PathBuf, SettingsError> {
    let folder = environment.data_folder().ok_or_else(|| {
        let remedy =
            format!("set `HOME`, or say in `{FILE}` where, as in state = \"/var/lib/lockgate/state.db\"");
        SettingsError::new(Path::new("home folder"), "there is none, so sessions cannot be stored", remedy)
    })?;
    Ok(folder.join("lockgate").join(DATABASE))
}
