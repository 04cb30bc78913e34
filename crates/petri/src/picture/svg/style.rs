//! The style sheet of all pictures.

/// The style sheet of all pictures.
pub const CSS: &str = "\
.petri-net{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}\
.petri-net text{text-anchor:middle;fill:#334155;stroke:none}\
.petri-net .ground{fill:#fff}\
.petri-net .heading{font-size:16px;font-weight:600;text-anchor:start;fill:#0f172a}\
.petri-net .label{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.petri-net .caption{font-size:11px;fill:#64748b}\
.petri-net .line{fill:none;stroke:#94a3b8;stroke-width:1.6}\
.petri-net .arrow{fill:#94a3b8}\
.petri-net .weight{font-size:11px;font-weight:600;fill:#475569}\
.petri-net .place{fill:#f8fafc;stroke:#94a3b8;stroke-width:1.8}\
.petri-net .marked .place{fill:#dbeafe;stroke:#2563eb;stroke-width:2.4}\
.petri-net .token{fill:#1d4ed8}\
.petri-net .count{font-weight:700;fill:#1d4ed8}\
.petri-net .box{fill:#f1f5f9;stroke:#64748b;stroke-width:1.6}\
.petri-net .marked .box{fill:#dbeafe;stroke:#2563eb;stroke-width:2.4}\
.petri-net .human{fill:#b45309}\
.track .label,.states .label{font-size:12px}\
.petri-net .structural .box{fill:#e2e8f0;stroke:none}\
.petri-net .structural .name{font-style:italic}\
.petri-net .deferred .box{stroke-dasharray:5 3}\
.petri-net .rim{fill:none;stroke:#64748b;stroke-width:1.2}\
.petri-net .enabled .box{fill:#dcfce7;stroke:#16a34a;stroke-width:2.2}\
.petri-net .enabled .rim{stroke:#16a34a}\
.petri-net .enabled .name{fill:#14532d;font-weight:600}\
@media(prefers-color-scheme:dark){\
.petri-net text{fill:#cbd5e1}\
.petri-net .ground{fill:#0f172a}\
.petri-net .heading{fill:#f1f5f9}\
.petri-net .label{stroke:#0f172a}\
.petri-net .caption{fill:#94a3b8}\
.petri-net .line{stroke:#64748b}\
.petri-net .arrow{fill:#64748b}\
.petri-net .weight{fill:#cbd5e1}\
.petri-net .place{fill:#1e293b;stroke:#64748b}\
.petri-net .marked .place{fill:#172554;stroke:#60a5fa}\
.petri-net .token,.petri-net .count{fill:#93c5fd}\
.petri-net .box{fill:#1e293b;stroke:#94a3b8}\
.petri-net .marked .box{fill:#172554;stroke:#60a5fa}\
.petri-net .human{fill:#fbbf24}\
.petri-net .structural .box{fill:#334155}\
.petri-net .rim{stroke:#94a3b8}\
.petri-net .enabled .box{fill:#14532d;stroke:#4ade80}\
.petri-net .enabled .rim{stroke:#4ade80}\
.petri-net .enabled .name{fill:#dcfce7}}";
